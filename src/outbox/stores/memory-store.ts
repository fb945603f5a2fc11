import { randomUUID } from "node:crypto";
import { monotonicNowMs } from "../../shared/time/clock.js";
import { isSettled, type NewEntry, NO_UNCERTAIN_ATTEMPT, type OutboxStore, type StoredEntry } from "../store.js";
import { isOtherInput } from "./entry-row.js";

interface Lane {
  owner?: string;
  /** When its lease ends or has ended, by the monotonic clock. */
  leasedUntil?: number;
  quietUntil?: number;
  quietKey?: string | undefined;
}

/** What a store keeps: it survives the process that used it. */
export interface StoreData {
  id: string;
  service?: string;
  lastSequence: number;
  entries: Map<string, StoredEntry>;
  lanes: Map<string, Lane>;
  /** The entries of each lane, in the order added. */
  entriesByLane: Map<string, StoredEntry[]>;
}

export const emptyData = (): StoreData => ({
  id: randomUUID(),
  lastSequence: 0,
  entries: new Map(),
  lanes: new Map(),
  entriesByLane: new Map(),
});

const EMPTY = {
  state: "pending",
  attempts: 0,
  body: null,
  ...NO_UNCERTAIN_ATTEMPT,
  settledAt: null,
  result: null,
  error: null,
} as const;

/** Everything in memory, for writes that need not survive the process. A `Map` keeps the order in which entries were added. */
export function memoryStore(data: StoreData = emptyData()): OutboxStore {
  const now = monotonicNowMs;
  const copy = (entry: StoredEntry): StoredEntry => ({ ...entry });
  const entries = () => [...data.entries.values()];
  const isLeased = (lane: string) => (data.lanes.get(lane)?.leasedUntil ?? -Infinity) > now();
  const holds = (lane: string, owner: string) => isLeased(lane) && data.lanes.get(lane)?.owner === owner;
  const changeLane = (lane: string, change: Lane) => data.lanes.set(lane, { ...data.lanes.get(lane), ...change });
  const firstOf = (lane: string) => data.entriesByLane.get(lane)?.find(({ state }) => !isSettled(state));
  const nextOf = (lane: string) => {
    const first = firstOf(lane);
    if (first?.state === "unknown") return undefined;
    return data.entriesByLane.get(lane)?.find(({ state }) => state === "sending") ?? first;
  };

  const add = (added: readonly NewEntry[]): StoredEntry[] => {
    const storedEntries = () => added.flatMap(({ key }) => data.entries.get(key) ?? []);
    for (const entry of isOtherInput(added, storedEntries()) ? [] : added) {
      if (data.entries.has(entry.key)) continue;
      data.lastSequence += 1;
      const stored = { ...entry, ...EMPTY, sequence: data.lastSequence };
      data.entries.set(entry.key, stored);
      const ofLane = data.entriesByLane.get(entry.lane) ?? [];
      data.entriesByLane.set(entry.lane, [...ofLane, stored]);
    }
    return storedEntries().map(copy);
  };

  return {
    open: async () => data.id,
    close: async () => {},

    async claimService({ id, address }) {
      if (data.service === undefined || data.service === address) data.service = id;
      return data.service;
    },

    add: async (added) => add(added),

    async get(key) {
      const entry = data.entries.get(key);
      return entry && copy(entry);
    },

    async list({ state, lane, after, limit }) {
      return entries()
        .filter(({ sequence, input }) => sequence > after && input !== null)
        .filter((entry) => (state ?? entry.state) === entry.state && (lane ?? entry.lane) === entry.lane)
        .slice(0, limit)
        .map(copy);
    },

    async count(except) {
      const counts = { pending: 0, sending: 0, applied: 0, rejected: 0, unknown: 0, canceled: 0, heldBack: 0 };
      const unsettled = entries().filter(({ state }) => !isSettled(state));
      const oldestUnsettledAt = unsettled.reduce((oldest, { addedAt }) => Math.min(oldest, addedAt), Infinity);
      const blocked = new Set<string>();
      for (const { lane, state } of entries()) {
        if (except.includes(lane)) continue;
        counts[state] += 1;
        if (state === "unknown") blocked.add(lane);
        if ((state === "pending" || state === "sending") && blocked.has(lane)) counts.heldBack += 1;
      }
      return { ...counts, oldestUnsettledAt: oldestUnsettledAt === Infinity ? null : oldestUnsettledAt };
    },

    async claim({ owner, leaseMs, limit, except }) {
      const claimed = [];
      for (const first of entries()) {
        const { lane } = first;
        if (claimed.length >= limit) break;
        if (first !== firstOf(lane) || isLeased(lane) || except.includes(lane)) continue;
        const entry = nextOf(lane);
        if (!entry) continue;
        const { leasedUntil, quietUntil = -Infinity, quietKey } = data.lanes.get(lane) ?? {};
        const unleasedMs = leasedUntil === undefined ? undefined : now() - leasedUntil;
        changeLane(lane, { owner, leasedUntil: now() + leaseMs });
        claimed.push({ lane, entry: copy(entry), unleasedMs, quietMs: Math.max(0, quietUntil - now()), quietKey });
      }
      return claimed;
    },

    async renew({ owner, leaseMs, lanes }) {
      const held = lanes.filter((lane) => holds(lane, owner));
      for (const lane of held) changeLane(lane, { leasedUntil: now() + leaseMs });
      return held;
    },

    async release({ owner, lane }) {
      if (holds(lane, owner)) changeLane(lane, { leasedUntil: now() });
    },

    async next(lane) {
      const entry = nextOf(lane);
      return entry && copy(entry);
    },

    async update(key, { state, attempts, owner }, { quietMs, ...change }) {
      const entry = data.entries.get(key);
      if (!entry) return undefined;
      const isMet = entry.state === state && entry.attempts === attempts;
      if (!isMet || (owner !== undefined && !holds(entry.lane, owner))) return { changed: false, entry: copy(entry) };
      Object.assign(entry, Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined)));
      if (quietMs !== undefined) {
        const { quietUntil = -Infinity, quietKey } = data.lanes.get(entry.lane) ?? {};
        const isOnly = quietKey === key || quietUntil <= now();
        changeLane(entry.lane, {
          quietUntil: Math.max(quietUntil, now() + quietMs),
          quietKey: isOnly ? key : undefined,
        });
      }
      return { changed: true, entry: copy(entry) };
    },

    async prune({ settledBefore }) {
      const isOld = ({ state, input, settledAt }: StoredEntry) =>
        isSettled(state) && input !== null && (settledAt ?? Infinity) < settledBefore;
      const pruned = entries().filter(isOld);
      for (const entry of pruned) {
        const error = entry.state === "canceled" ? entry.error : null;
        Object.assign(entry, { input: null, body: null, result: null, error });
      }
      return pruned.length;
    },
  };
}
