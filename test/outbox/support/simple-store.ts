import { randomUUID } from "node:crypto";
import type { OutboxStore, StoredEntry } from "../../../src/outbox/index.js";

interface Item {
  owner?: string;
  leasedUntil?: number;
  quietUntil?: number;
}

/** What a store keeps: it survives the process that used it. */
export interface StoreData {
  id: string;
  entries: Map<string, StoredEntry>;
  items: Map<string, Item>;
}

export const emptyData = (): StoreData => ({ id: randomUUID(), entries: new Map(), items: new Map() });

/** The simplest store: everything in memory. */
export function simpleStore(data: StoreData = emptyData()): OutboxStore {
  const now = () => performance.now();
  const ordered = () => [...data.entries.values()].sort((one, other) => one.sequence - other.sequence);
  const copy = (entry: StoredEntry): StoredEntry => ({ ...entry });
  const itemOf = (item: string): Item => {
    const found = data.items.get(item) ?? {};
    data.items.set(item, found);
    return found;
  };
  const isLeased = (item: string) => (data.items.get(item)?.leasedUntil ?? -Infinity) > now();
  const holds = (item: string, owner: string) => isLeased(item) && data.items.get(item)?.owner === owner;
  const next = (item: string) => {
    for (const entry of ordered()) {
      if (entry.item !== item) continue;
      if (entry.state === "unknown") return undefined;
      if (entry.state === "pending" || entry.state === "sending") return entry;
    }
    return undefined;
  };
  return {
    open: async () => data.id,
    close: async () => {},
    async add(entries) {
      const conflicts = entries.filter(({ key, inputHash }) => {
        const existing = data.entries.get(key);
        return existing && existing.inputHash !== inputHash;
      });
      for (const entry of conflicts.length > 0 ? [] : entries) {
        if (data.entries.has(entry.key)) continue;
        data.entries.set(entry.key, {
          ...entry,
          sequence: data.entries.size + 1,
          state: "pending",
          attempts: 0,
          body: null,
          sentAt: null,
          clockAheadMs: null,
          settledAt: null,
          result: null,
          error: null,
        });
      }
      return entries.flatMap(({ key }) => data.entries.get(key) ?? []).map(copy);
    },
    async get(key) {
      const entry = data.entries.get(key);
      return entry && copy(entry);
    },
    async list({ state, item, after, limit }) {
      return ordered()
        .filter((entry) => entry.input !== null && entry.sequence > after)
        .filter((entry) => (state ?? entry.state) === entry.state && (item ?? entry.item) === entry.item)
        .slice(0, limit)
        .map(copy);
    },
    async count(except) {
      const counts = { pending: 0, sending: 0, applied: 0, rejected: 0, unknown: 0, heldBack: 0 };
      const blocked = new Set<string>();
      for (const { item, state } of ordered()) {
        if (except.includes(item)) continue;
        counts[state] += 1;
        if (state === "unknown") blocked.add(item);
        if (state === "pending" && blocked.has(item)) counts.heldBack += 1;
      }
      return counts;
    },
    async claim({ owner, leaseMs, limit, except }) {
      const claimed = [];
      for (const { item } of ordered()) {
        if (claimed.length >= limit) break;
        const entry = next(item);
        if (!entry || isLeased(item) || except.includes(item)) continue;
        const { leasedUntil, quietUntil = -Infinity } = itemOf(item);
        const unleasedMs = leasedUntil === undefined ? undefined : now() - leasedUntil;
        Object.assign(itemOf(item), { owner, leasedUntil: now() + leaseMs });
        claimed.push({ item, entry: copy(entry), unleasedMs, quietMs: Math.max(0, quietUntil - now()) });
      }
      return claimed;
    },
    async renew({ owner, leaseMs, items }) {
      const held = items.filter((item) => holds(item, owner));
      for (const item of held) itemOf(item).leasedUntil = now() + leaseMs;
      return held;
    },
    async release({ owner, item }) {
      if (holds(item, owner)) itemOf(item).leasedUntil = now();
    },
    async next(item) {
      const entry = next(item);
      return entry && copy(entry);
    },
    async update(key, { state, attempts, owner }, { quietMs, ...change }) {
      const entry = data.entries.get(key);
      if (!entry) return undefined;
      const isMet = state.includes(entry.state) && entry.attempts === attempts;
      if (!isMet || (owner !== undefined && !holds(entry.item, owner))) return { changed: false, entry: copy(entry) };
      Object.assign(entry, Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined)));
      const item = itemOf(entry.item);
      if (quietMs !== undefined) item.quietUntil = Math.max(item.quietUntil ?? 0, now() + quietMs);
      return { changed: true, entry: copy(entry) };
    },
    async prune({ settledBefore }) {
      let pruned = 0;
      for (const entry of data.entries.values()) {
        const isSettled = entry.state === "applied" || entry.state === "rejected";
        if (!isSettled || entry.input === null || (entry.settledAt ?? Infinity) >= settledBefore) continue;
        Object.assign(entry, { input: null, body: null, result: null, error: null });
        pruned += 1;
      }
      return pruned;
    },
  };
}
