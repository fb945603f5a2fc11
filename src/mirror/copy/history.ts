import { InputValidationError } from "../../shared/errors/index.js";
import { valueThat } from "../../shared/option.js";
import { fieldOf, isObject } from "../../shared/unknown.js";
import type { MirrorKey, MirrorList, MirrorResource } from "../tables.js";
import type { ListState, MirrorState } from "./state.js";

/*
 * The history of a copy: each change of a record is a row of the table `changes`, written in the SQL transaction that
 * changes the record. It belongs to the copy, not to a mirror. Its state is saved with the copy:
 *
 *   none       it was never on
 *   on         `days` says how long rows are kept; every mirror of the copy writes them
 *   off        no `days`, and no rows; `seq` stays, so that no number is used twice
 *
 *   seq        the number of the last row. A commit succeeds only if the saved state is the one that it is based on, so
 *              two commits never use the same number, and numbers ascend in the order of commits. On again after off, one
 *              number is skipped: readers and listeners notice that rows are missing before it.
 *   delivered  the number of the last row that `onEvent` has received
 *   from       per list, the first moment (ms) that its rows cover. A list without it is not recorded yet: its
 *              first full pass, which is no change, has not ended. A list that begins again with another account keeps it.
 *
 * Rows are removed from the oldest on, at the end of a run. So those that exist have consecutive numbers up to `seq`.
 */

/** How long a history lasts. */
export interface MirrorHistoryOptions {
  /** How long changes are kept, in days: above 0, at most 36 525. Older ones are removed at the end of a run. */
  days: number;
}

/** Whether changes are recorded, and how long. */
export type HistoryOption = MirrorHistoryOptions | false | undefined;

/** A change of one record, as the table `changes` of a copy with history has it. */
export interface MirrorChange extends RecordChange {
  /** The number of the row: ascending in the order of commits, never reused. */
  seq: number;
  /**
   * When the copy learned of the change, in ISO 8601. The change happened after the `asOf` that the resource had before, unless
   * `awaitsFullPass` was true. A removal may be older by one run, if as many records were added while the counts were compared.
   */
  at: string;
  /** The resource that the record belongs to. */
  resource: MirrorResource;
}

/** A change of one record of a resource. */
export interface RecordChange {
  /** What happened to the record. */
  type: "added" | "changed" | "removed";
  /** Identifies the record within the resource. */
  key: MirrorKey;
  /** The fields that differ, as they were; of a removed record all fields; `null` of an added one. */
  before: Readonly<Record<string, unknown>> | null;
  /** The fields that differ, as they are; of an added record all fields; `null` of a removed one. */
  after: Readonly<Record<string, unknown>> | null;
}

/** Which rows of the table `changes` to read. */
export interface ChangesQuery {
  /** The rows that follow this number. */
  after: number;
  /** Only of this resource. */
  resource?: MirrorResource | undefined;
  /** Only of the record with this key. */
  key?: MirrorKey | undefined;
}

export type HistoryState = NonNullable<MirrorState["history"]>;

/** A century of days, so that dates stay valid. */
export const MAX_HISTORY_DAYS = 36_525;

export const historyOptionSchema = () =>
  valueThat<MirrorHistoryOptions | false>((value) => {
    const days = fieldOf(value, "days");
    const isOn = isObject(value) && Object.keys(value).length === 1 && typeof days === "number";
    return value === false || (isOn && days > 0 && days <= MAX_HISTORY_DAYS);
  }, `must be false, or { days } with a number of days from above 0 to ${MAX_HISTORY_DAYS}`);

const DAY_MS = 24 * 60 * 60_000;

/** Later than any row: all of them expire. */
const EXPIRE_ALL = "9999-12-31T23:59:59.999Z";

/** The history to save. Rows from before `expire` are removed, if it is set. */
interface ChangedHistory {
  history: HistoryState;
  expire?: string;
}

/** What an option changes; `undefined` if nothing. Rows from before a history that was off mean nothing any more. */
export function switchedHistory(history: HistoryState | undefined, option: HistoryOption): ChangedHistory | undefined {
  const days = option === undefined ? history?.days : option === false ? undefined : option.days;
  if (days === history?.days) return undefined;
  const { seq = -1, delivered = 0, from = {} } = history ?? {};
  if (days === undefined) return { history: { seq, delivered, from: {} }, expire: EXPIRE_ALL };
  if (history?.days !== undefined) return { history: { days, seq, delivered, from } };
  return { history: { days, seq: seq + 1, delivered, from: {} }, expire: EXPIRE_ALL };
}

/** The history after a commit, and its rows. A list is recorded from the commit after the one that ends its first full pass. */
export function recordChanges(
  history: HistoryState | undefined,
  lists: Readonly<Record<string, ListState>>,
  { list, changes, now }: { list: MirrorList; changes: readonly RecordChange[]; now: number },
): { history: HistoryState | undefined; rows: MirrorChange[] } {
  if (history?.days === undefined) return { history, rows: [] };
  const isRecorded = history.from[list.id] !== undefined;
  const at = new Date(now).toISOString();
  const rows = (isRecorded ? changes : []).map(
    (change, index): MirrorChange => ({ seq: history.seq + index + 1, at, resource: list.resource, ...change }),
  );
  const from = Object.entries(lists).flatMap(([id, { lastPass }]): [string, number][] => {
    const since = history.from[id] ?? (lastPass && now);
    return since === undefined ? [] : [[id, since]];
  });
  return { history: { ...history, seq: history.seq + rows.length, from: Object.fromEntries(from) }, rows };
}

/** The history without the rows that are too old. */
export function expireHistory(history: HistoryState | undefined, now: number): ChangedHistory | undefined {
  if (history?.days === undefined) return undefined;
  const oldest = now - history.days * DAY_MS;
  const from = Object.entries(history.from).map(([id, since]) => [id, Math.max(since, oldest)]);
  return { history: { ...history, from: Object.fromEntries(from) }, expire: new Date(oldest).toISOString() };
}

/** The first moment that the history of all lists covers, in ms; `null` while no first full pass has ended. */
export function historyFrom({ from }: HistoryState): number | null {
  const times = Object.values(from);
  return times.length === 0 ? null : Math.max(...times);
}

/** Throws unless the rows behind `after` are all there. `oldest` is the number of the first row that is left. */
export function assertNotExpired(method: string, { seq }: HistoryState, after: number, oldest = seq + 1): void {
  const message =
    after > seq
      ? `${after} is greater than ${seq}, the last row. The copy was created anew: begin without after`
      : `the rows from ${after + 1} to ${oldest - 1} have expired. Read the records, then continue with after: ${oldest - 1}`;
  if (after > seq || after + 1 < oldest) throw new InputValidationError(method, [{ path: ["after"], message }]);
}
