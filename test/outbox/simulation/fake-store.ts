import type { StoredEntry } from "../../../src/outbox/entry.js";
import type {
  AsRead,
  EntryChange,
  OpenStore,
  OutboxCounts,
  SenderRow,
  SendFilter,
  UnsettledCounts,
} from "../../../src/outbox/store.js";

/** The rows of the fake database. */
export interface Rows {
  entries: StoredEntry[];
  sender: SenderRow;
}

/** Defects that are planted, so that a test can verify that the exploration finds them. */
export interface Planted {
  /** A waiting process takes over the lock at once, instead of after a lease. */
  takesOverAtOnce?: boolean;
  /** An uncertain outcome is decided at once, instead of after `settleMs`. */
  decidesAtOnce?: boolean;
  /** No command that takes or uses the lock, or sends a heartbeat, compares the name of the sender. */
  ignoresSender?: boolean;
}

const UNSETTLED = ["pending", "sending", "unknown"];

/** The methods of a store that a run calls, on rows in memory. store-conformance.test.ts compares them with `OpenStore`. */
export function storeMethods(rows: Rows, planted: Planted = {}) {
  const find = (key: string) => rows.entries.find((entry) => entry.key === key);
  const unsettled = () => rows.entries.filter(({ state }) => UNSETTLED.includes(state));
  const isBehindUnknown = ({ lane, sequence }: StoredEntry) =>
    rows.entries.some((other) => other.lane === lane && other.state === "unknown" && other.sequence < sequence);
  const countOf = (state: StoredEntry["state"]) => rows.entries.filter((entry) => entry.state === state).length;
  const countUnsettled = (): UnsettledCounts => ({
    pending: countOf("pending"),
    sending: countOf("sending"),
    unknown: countOf("unknown"),
    oldestUnsettledAt: unsettled().length === 0 ? null : Math.min(...unsettled().map(({ addedAt }) => addedAt)),
    toSend: unsettled().filter((entry) => entry.state !== "unknown" && !isBehindUnknown(entry)).length,
  });
  return {
    lastPlace: () => Math.max(0, ...rows.entries.map(({ sequence }) => sequence)),
    count: (): OutboxCounts => ({
      ...countUnsettled(),
      applied: countOf("applied"),
      rejected: countOf("rejected"),
      canceled: countOf("canceled"),
    }),
    countUnsettled,
    next: (limit: number, { upTo, lane: of }: SendFilter) =>
      unsettled()
        .filter(({ lane }) => of === undefined || lane === of)
        .filter(({ lane, sequence }) => !unsettled().some((one) => one.lane === lane && one.sequence < sequence))
        .filter(({ state, sequence }) => state !== "unknown" && sequence <= upTo)
        .slice(0, limit)
        .map((entry) => ({ ...entry })),
    cancelBound(sender: string, settledAt: number, error: string) {
      if (rows.sender.sender !== sender && !planted.ignoresSender) return;
      for (const entry of rows.entries)
        if (entry.state === "pending" && entry.boundTo !== null && entry.boundTo !== sender)
          Object.assign(entry, { state: "canceled", settledAt, error });
    },
    get(key: string) {
      const entry = find(key);
      return entry && { ...entry };
    },
    change({ key, state, attempts }: AsRead, change: EntryChange) {
      const entry = find(key);
      if (entry?.state !== state || entry.attempts !== attempts) return undefined;
      Object.assign(entry, change);
      return { ...entry };
    },
    markSending({ key, attempts, sentAt }: StoredEntry, attempt: Parameters<OpenStore["markSending"]>[1]) {
      const entry = find(key);
      const { sender, beat } = rows.sender;
      const isSender = planted.ignoresSender || (sender === attempt.sender && beat >= attempt.beat);
      if (!entry || !isSender) return undefined;
      const isFirst = entry.attempts === attempts && ["pending", "sending"].includes(entry.state);
      const isRepeated = entry.attempts === attempts + 1 && entry.state === "sending";
      if (!isFirst && !isRepeated) return undefined;
      if (entry.boundTo !== null && entry.boundTo !== attempt.sender) return undefined;
      if (unsettled().some(({ lane, sequence }) => lane === entry.lane && sequence < entry.sequence)) return undefined;
      Object.assign(entry, { state: "sending", attempts: attempts + 1, error: null });
      const { sender: _, beat: __, ...first } = attempt;
      if (sentAt === null) Object.assign(entry, first);
      return { ...entry };
    },
    sender: () => ({
      ...rows.sender,
      ...(planted.takesOverAtOnce && { leaseMs: 0 }),
      ...(planted.decidesAtOnce && { settleMs: 0 }),
    }),
    takeLock(seen: SenderRow, own: Omit<SenderRow, "beat">) {
      const isSame = rows.sender.sender === seen.sender && rows.sender.beat === seen.beat;
      if (!isSame && !planted.ignoresSender) return undefined;
      rows.sender = { ...own, beat: seen.beat + 1, settleMs: Math.max(seen.settleMs, own.settleMs) };
      return { ...rows.sender };
    },
    heartbeat(sender: string, beat: number) {
      if (planted.ignoresSender) return true;
      if (rows.sender.sender !== sender || rows.sender.beat < beat - 1 || rows.sender.beat > beat) return false;
      rows.sender.beat = beat;
      return true;
    },
    releaseLock(sender: string) {
      if (rows.sender.sender === sender) rows.sender = { ...rows.sender, sender: "", beat: rows.sender.beat + 1 };
    },
  } satisfies { [Name in keyof OpenStore]?: (...args: never) => unknown };
}
