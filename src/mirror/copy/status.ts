import type { SqlValue } from "../../storage/database.js";
import type { SqlType } from "../../storage/dialect.js";
import { type MirrorList, type MirrorResource, RESOURCES, tableOf } from "../tables.js";
import type { CopyDatabase } from "./database.js";
import { deleteAll, insertSql, STATUS_COLUMNS, type Statement } from "./sql.js";

/** How complete and how recent the copy of one list is. Times are in ms since the epoch. */
export interface MirrorListStatus {
  /** The resource that the list contains. */
  list: MirrorResource;
  /** ID of the warehouse for stock levels per warehouse; otherwise `null`. */
  wID: number | null;
  /** Records in the copy. */
  records: number;
  /**
   * The copy has every change that the service dated before this time, in ms since the epoch; `null` until the list was
   * read completely.
   */
  asOf: number | null;
  /** The time since `asOf`, in ms; `null` if `asOf` is `null`. */
  lagMs: number | null;
  /** Records that were removed before this time are not in the copy; `null` if no such time is known. */
  fullPassAt: number | null;
  /** Records whose removal the last full pass refused, see `UnexpectedRemovalsError`; `null` if none. */
  refused: number | null;
  /** Records that the service counted and the last full pass did not list; `null` before the first one. */
  unlisted: number | null;
  /**
   * Whether `modifiedSince` lists all changes, so that increments move `asOf`: `true`, `false` (for good), or `null` while that
   * is not known.
   */
  increments: boolean | null;
  /** Since when the table `changes` has every change of the list; `null` if changes are not recorded. */
  changesFrom: number | null;
  /** Class and message of the error with which the last read of the list failed; `null` if it succeeded. */
  error: string | null;
  /** When the first read after the last success failed, in ms since the epoch; `null` if the last read succeeded. */
  failedSince: number | null;
}

/** The state of a list, as it is stored in the row of the list in `mirror_status`. */
export interface ListState extends Omit<MirrorListStatus, "list" | "wID" | "records" | "lagMs"> {
  /** The service's clock when the last read began; `null` without a `Date` header. */
  since: number | null;
  /** The beginning of the last full pass that was read to its end, by the clock of this machine. */
  passAt: number | null;
  /** Whether a full pass has begun and has not ended. */
  interrupted: boolean;
}

export const NEW_LIST_STATE: ListState = {
  ...{ asOf: null, fullPassAt: null, refused: null, unlisted: null, increments: null, changesFrom: null },
  ...{ error: null, failedSince: null, since: null, passAt: null, interrupted: false },
};

export interface ListRow {
  list: MirrorList;
  state: ListState;
}

/** The rows of a copy, in the order in which lists are read. */
export async function readListRows({ dialect, query }: CopyDatabase): Promise<ListRow[]> {
  const rows = await query(`SELECT * FROM ${dialect.nameOf("mirror_status")}`);
  return rows
    .map(listRowOf)
    .sort((a, b) => resourcePlaceOf(a) - resourcePlaceOf(b) || (a.list.wID ?? 0) - (b.list.wID ?? 0));
}

const resourcePlaceOf = ({ list }: ListRow) => RESOURCES.indexOf(list.resource);

function listRowOf(row: Readonly<Record<string, unknown>>): ListRow {
  const values = Object.entries(STATUS_COLUMNS).map(([name, type]) => [name, fromColumn(type, row[name])]);
  // The values have these types, because a mirror wrote the row.
  const { list, wID, ...state }: ListState & { list: MirrorResource; wID: number | null } = Object.fromEntries(values);
  return { list: { resource: list, wID }, state };
}

function fromColumn(type: SqlType, value: unknown): SqlValue | boolean {
  if (value == null) return null;
  if (type === "boolean") return value === 1 || value === "t";
  if (type === "time") return Date.parse(String(value));
  return type === "integer" ? Number(value) : String(value);
}

function toColumn(type: SqlType, value: SqlValue | boolean): SqlValue {
  if (type === "time" && value !== null) return new Date(Number(value)).toISOString();
  // No database stores a NUL, or half of a surrogate pair.
  if (typeof value === "string") return value.toWellFormed().replaceAll("\0", "");
  return typeof value === "boolean" ? Number(value) : value;
}

/** Returns the statements that replace the row of a list. Without a state, they delete the row. */
export function saveListRow(
  { list, state }: { list: MirrorList; state: ListState | undefined },
  { dialect }: CopyDatabase,
): Statement[] {
  const { resource, wID } = list;
  // Only the lists of one resource have a warehouse.
  const condition = '"list" = $1 AND coalesce("wID", 0) = $2';
  const removal = deleteAll(dialect.nameOf("mirror_status"), condition, [resource, wID ?? 0]);
  if (state === undefined) return [removal];
  const row = { list: resource, wID, ...state };
  const columns = Object.keys(row) as (keyof typeof row)[];
  const values = columns.map((name) => toColumn(STATUS_COLUMNS[name], row[name]));
  const types = Object.fromEntries(columns.map((name) => [name, STATUS_COLUMNS[name]]));
  return [removal, { ...insertSql(dialect, "mirror_status", types), rows: [values], columns }];
}

export async function countRecords({ dialect, query }: CopyDatabase, { resource, wID }: MirrorList): Promise<number> {
  const condition = wID === null ? "" : ` WHERE "wID" = ${wID}`;
  const [row] = await query(`SELECT count(*) AS count FROM ${dialect.nameOf(tableOf(resource).name)}${condition}`);
  return Number(row?.count);
}

/** Returns the status of each list that the copy has, and of each list that a mirror will read. */
export async function readStatus(
  database: CopyDatabase | undefined,
  mirrored: readonly MirrorList[] = [],
): Promise<MirrorListStatus[]> {
  const rows = database ? await readListRows(database) : [];
  const isKnown = (list: MirrorList) =>
    rows.some((row) => row.list.resource === list.resource && row.list.wID === list.wID);
  const missing = mirrored.filter((list) => !isKnown(list)).map((list) => ({ list, state: NEW_LIST_STATE }));
  const statuses: MirrorListStatus[] = [];
  for (const { list, state } of [...rows, ...missing]) {
    const records = database ? await countRecords(database, list) : 0;
    const { asOf, since: _, passAt: __, interrupted: ___, ...shown } = state;
    const lagMs = asOf === null ? null : Math.max(0, Date.now() - asOf);
    statuses.push({ list: list.resource, wID: list.wID, records, asOf, lagMs, ...shown });
  }
  return statuses;
}
