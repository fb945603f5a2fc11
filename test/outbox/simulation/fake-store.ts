import type { StoredEntry } from "../../../src/outbox/entry.js";
import type { AsRead, EntryChange, OpenStore, SenderRow, SendFilter } from "../../../src/outbox/store.js";

/** What a fake database holds. */
export interface Rows {
  entries: StoredEntry[];
  sender: SenderRow;
}

/** Faults that are planted to see whether they are found. */
export interface Planted {
  /** A waiting process takes the lock over at once. */
  takesOverAtOnce?: boolean;
  /** What is uncertain is decided at once. */
  decidesAtOnce?: boolean;
  /** The lock is taken, counted up and used without a comparison of the name. */
  ignoresSender?: boolean;
}

const UNSETTLED = ["pending", "sending", "unknown"];

/** The methods of a store that a run calls, on rows in memory. `OpenStore` has the same in SQL. */
export function storeMethods(rows: Rows, planted: Planted) {
  const find = (key: string) => rows.entries.find((entry) => entry.key === key);
  const unsettled = () => rows.entries.filter(({ state }) => UNSETTLED.includes(state));
  const isBehindUnknown = ({ lane, sequence }: StoredEntry) =>
    rows.entries.some((other) => other.lane === lane && other.state === "unknown" && other.sequence < sequence);
  return {
    lastPlace: () => rows.entries.length,
    count: () => ({
      unknown: rows.entries.filter(({ state }) => state === "unknown").length,
      toSend: unsettled().filter((entry) => entry.state !== "unknown" && !isBehindUnknown(entry)).length,
    }),
    next: (limit: number, { upTo }: SendFilter) =>
      unsettled()
        .filter(({ lane, sequence }) => !unsettled().some((one) => one.lane === lane && one.sequence < sequence))
        .filter(({ state, sequence }) => state !== "unknown" && sequence <= upTo)
        .slice(0, limit)
        .map((entry) => ({ ...entry })),
    // None is bound.
    cancelBound: () => {},
    get: (key: string) => ({ ...find(key) }),
    change({ key, state, attempts }: AsRead, change: EntryChange) {
      const entry = find(key);
      if (entry?.state !== state || entry.attempts !== attempts) return undefined;
      Object.assign(entry, change);
      return { ...entry };
    },
    begin({ key, attempts }: StoredEntry, attempt: Omit<Parameters<OpenStore["begin"]>[1], "clockAheadMs">) {
      const entry = find(key);
      const { sender, beat } = rows.sender;
      const isSender = planted.ignoresSender || (sender === attempt.sender && beat >= attempt.beat);
      if (!entry || entry.attempts !== attempts || !["pending", "sending"].includes(entry.state) || !isSender)
        return undefined;
      if (unsettled().some(({ lane, sequence }) => lane === entry.lane && sequence < entry.sequence)) return undefined;
      Object.assign(entry, { state: "sending", attempts: attempts + 1, error: null });
      if (entry.sentAt === null) entry.lastRecNo = attempt.lastRecNo;
      entry.sentAt ??= attempt.sentAt;
      entry.clockAheadMs ??= 0;
      return { ...entry };
    },
    sender: () => ({
      ...rows.sender,
      ...(planted.takesOverAtOnce && { leaseMs: 0 }),
      ...(planted.decidesAtOnce && { settleMs: 0 }),
    }),
    takeLock(seen: SenderRow, next: Omit<SenderRow, "beat">) {
      const isSame = rows.sender.sender === seen.sender && rows.sender.beat === seen.beat;
      if (!isSame && !planted.ignoresSender) return undefined;
      rows.sender = { ...next, beat: seen.beat + 1 };
      return { ...rows.sender };
    },
    beat(sender: string, beat: number) {
      if (planted.ignoresSender) return true;
      if (rows.sender.sender !== sender || Math.abs(rows.sender.beat - beat + 0.5) > 0.5) return false;
      rows.sender.beat = beat;
      return true;
    },
    releaseLock(sender: string) {
      if (rows.sender.sender === sender) rows.sender = { ...rows.sender, sender: "", beat: rows.sender.beat + 1 };
    },
  } satisfies { [Name in keyof OpenStore]?: (...args: never) => unknown };
}
