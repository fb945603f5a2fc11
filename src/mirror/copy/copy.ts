import { DAY_MS } from "../../shared/time/clock.js";
import { assertSameAccount, type ServiceAccount } from "../../storage/service.js";
import type { SqlFields } from "../../storage/update-rows.js";
import {
  keyOf,
  listName,
  type MirrorList,
  type MirrorRecord,
  type MirrorResource,
  type NumberedRecord,
  numberFieldOf,
  RESOURCES,
  tableOf,
} from "../tables.js";
import {
  compareRecords,
  type MirrorHistoryOptions,
  mustCountAsModified,
  type RecordChange,
  recordChanges,
} from "./changes.js";
import { type CopyDatabase, type CopyRow, readCopyRow } from "./database.js";
import { RowCodec } from "./row-codec.js";
import { deleteAll, deleteSql, type Statement, tableColumnsOf, upsertSql } from "./sql.js";
import { countRecords, type ListRow, type ListState, NEW_LIST_STATE, readListRows, saveListRow } from "./status.js";

export interface WrittenPage {
  added: number;
  changed: number;
  /** Numbers of the records that an increment must list, because they differed from the copy. */
  modified: number[];
}

const RECORDS_PER_READ = 1_000;
const NUMBERS_BATCH_SIZE = 10_000;

/** The copy as one run uses it. A commit is one transaction: records, the state of their list, and their changes. */
export class Copy {
  readonly #database: CopyDatabase;
  #row: CopyRow;
  readonly #states: Map<string, ListRow>;

  private constructor(database: CopyDatabase, row: CopyRow, lists: readonly ListRow[]) {
    this.#database = database;
    this.#row = row;
    this.#states = new Map(lists.map((known) => [listName(known.list), known]));
  }

  /**
   * Begins a run.
   *
   * @param lists The lists of the mirror. A list that has no row gets one.
   * @param history The option of the mirror. With `undefined`, the history of the copy stays as it is.
   * @throws ConfigurationError when the copy belongs to another service or client ID.
   */
  static async begin(
    database: CopyDatabase,
    account: ServiceAccount,
    { lists, history }: { lists: readonly MirrorList[]; history: MirrorHistoryOptions | false | undefined },
  ): Promise<Copy> {
    const row = await readCopyRow(database, "FOR SHARE");
    const copy = new Copy(database, row, await readListRows(database));
    if (row.account) assertSameAccount({ method: "mirror", noun: "copy" }, row.account, account);
    if (row.account?.id !== account.id || row.account.address !== account.address) {
      const { id, address, clientId } = account;
      await copy.#commit([copy.#update({ service: id, address, client_id: clientId })]);
    }
    await copy.#switchHistory(history);
    const added = lists.filter((list) => !copy.#states.has(listName(list)));
    const rows = added.map((list): ListRow => ({ list, state: NEW_LIST_STATE }));
    if (rows.length > 0) await copy.#commit(rows.flatMap((known) => saveListRow(known, database)));
    for (const known of rows) copy.#states.set(listName(known.list), known);
    // An earlier run may have been killed before it created the indexes.
    for (const resource of RESOURCES) if (copy.#isComplete(resource)) await database.createIndexes(resource);
    return copy;
  }

  /** The lists that the copy has read. */
  get lists(): MirrorList[] {
    return [...this.#states.values()].map(({ list }) => list);
  }

  stateOf(list: MirrorList): ListState {
    return this.#states.get(listName(list))?.state ?? NEW_LIST_STATE;
  }

  count(list: MirrorList): Promise<number> {
    return countRecords(this.#database, list);
  }

  /** Saves fields of a list's state, and removes records in the same commit. */
  async save(list: MirrorList, patch: Partial<ListState>, remove: readonly number[] = []): Promise<void> {
    const before = this.stateOf(list);
    const changesFrom =
      this.#row.historyDays !== null && before.asOf === null && patch.asOf != null ? Date.now() : null;
    const state = { ...before, ...(changesFrom !== null && { changesFrom }), ...patch };
    const { statements, changes } = await this.#removal(list, remove);
    await this.#commit([...statements, ...saveListRow({ list, state }, this.#database)], list, changes);
    this.#states.set(listName(list), { list, state });
    if (before.asOf === null && state.asOf !== null) await this.#database.createIndexes(list.resource);
  }

  /** Writes the records of a page that are new, or differ from the copy. */
  async write(list: MirrorList, records: readonly NumberedRecord[]): Promise<WrittenPage> {
    const { resource } = list;
    const table = tableOf(resource);
    const known = await this.#read(
      list,
      records.map(({ number }) => number),
    );
    const written: WrittenPage = { added: 0, changed: 0, modified: [] };
    const changes: RecordChange[] = [];
    const upsert: MirrorRecord[] = [];
    for (const { number, record } of records) {
      const change = compareRecords(table, keyOf(list, number), known.get(number), record);
      if (change === undefined) continue;
      changes.push(change);
      upsert.push(record);
      written[change.type === "added" ? "added" : "changed"] += 1;
      if (mustCountAsModified(resource, change)) written.modified.push(number);
    }
    if (upsert.length === 0) return written;
    const { dialect } = this.#database;
    const codec = new RowCodec(table);
    const rows = upsert.map((record) => codec.encode(record));
    const columns = Object.keys(tableColumnsOf(table));
    await this.#commit([{ ...upsertSql(dialect, table), rows, columns }], list, changes);
    return written;
  }

  /** Returns the numbers of a list's records in the copy that are not among `listed`. */
  async numbersOutside(list: MirrorList, listed: ReadonlySet<number>): Promise<number[]> {
    const { dialect, query } = this.#database;
    const field = `"${numberFieldOf(list)}"`;
    const sql = `SELECT ${field} AS number FROM ${dialect.nameOf(tableOf(list.resource).name)}
WHERE ${field} > $1${warehouseCondition(list)} ORDER BY ${field} LIMIT ${NUMBERS_BATCH_SIZE}`;
    const outside: number[] = [];
    for (let last: number | undefined = Number.MIN_SAFE_INTEGER - 1; last !== undefined; ) {
      const numbers: number[] = (await query(sql, [last])).map(({ number }) => Number(number));
      for (const number of numbers) if (!listed.has(number)) outside.push(number);
      last = numbers.at(NUMBERS_BATCH_SIZE - 1);
    }
    return outside;
  }

  /**
   * Removes all records of a list that is not mirrored any more, and the row of the list. Returns the number of
   * records.
   */
  async drop(list: MirrorList): Promise<number> {
    const numbers = await this.numbersOutside(list, new Set());
    const { statements, changes } = await this.#removal(list, numbers);
    await this.#commit([...statements, ...saveListRow({ list, state: undefined }, this.#database)], list, changes);
    this.#states.delete(listName(list));
    return numbers.length;
  }

  /** Removes changes that are too old, the oldest first. The remaining changes are consecutive, even if a clock was set. */
  async expireChanges(): Promise<void> {
    const { historyDays, seq, expired } = this.#row;
    if (historyDays === null) return;
    const { dialect, query } = this.#database;
    const oldest = new Date(Date.now() - historyDays * DAY_MS).toISOString();
    const first = `SELECT "seq" FROM ${dialect.nameOf("changes")} WHERE "at" >= $1 ORDER BY "seq" LIMIT 1`;
    const [row] = await query(first, [oldest]);
    const upTo = row === undefined ? seq : Number(row.seq) - 1;
    if (upTo <= expired) return;
    await this.#commit([
      ...this.#deleteChanges(upTo),
      {
        // `$1 = $2` is always true. Both commands get the same two values, and a command must use each of its values.
        sql: `UPDATE ${dialect.nameOf("mirror_status")} SET "changesFrom" = $1 WHERE "changesFrom" < $2`,
        unapplied: `SELECT 1 AS one FROM ${dialect.nameOf("mirror_status")} WHERE $1 = $2 AND "changesFrom" < $2`,
        rows: [[oldest, oldest]],
      },
    ]);
    this.#row.expired = upTo;
    for (const { state } of this.#states.values()) {
      if (state.changesFrom !== null) state.changesFrom = Math.max(state.changesFrom, Date.parse(oldest));
    }
  }

  close(): Promise<void> {
    return this.#database.close();
  }

  #isComplete(resource: MirrorResource): boolean {
    return [...this.#states.values()].some(({ list, state }) => list.resource === resource && state.asOf !== null);
  }

  /**
   * Switches the recording of changes on or off. Switching it off removes all rows of the history and skips one `seq`,
   * so that every reader notices it.
   */
  async #switchHistory(history: MirrorHistoryOptions | false | undefined): Promise<void> {
    const { historyDays, seq } = this.#row;
    const days = history === undefined ? historyDays : history === false ? null : history.days;
    if (days === historyDays) return;
    const statements = [this.#update({ history_days: days })];
    const skipped = days === null ? seq + 1 : seq;
    if (days === null) statements.push(...this.#deleteChanges(skipped), this.#update({ seq: skipped }));
    const isSwitched = days === null || historyDays === null;
    for (const row of isSwitched ? this.#states.values() : []) {
      const changesFrom = days === null || row.state.asOf === null ? null : Date.now();
      row.state = { ...row.state, changesFrom };
      statements.push(...saveListRow(row, this.#database));
    }
    await this.#commit(statements);
    this.#row = { ...this.#row, historyDays: days, seq: skipped, ...(days === null && { expired: skipped }) };
  }

  #deleteChanges(upTo: number): Statement[] {
    const changes = this.#database.dialect.nameOf("changes");
    return [deleteAll(changes, '"seq" <= $1', [upTo]), this.#update({ expired: upTo })];
  }

  #update(fields: SqlFields): Statement {
    const table = this.#database.dialect.nameOf("stocklot_mirror");
    const pairs = (operator: string) =>
      Object.keys(fields).map((column, index) => `${column} ${operator} $${index + 1}`);
    const stored = `SELECT 1 FROM ${table} WHERE ${pairs("IS NOT DISTINCT FROM").join(" AND ")}`;
    return {
      sql: `UPDATE ${table} SET ${pairs("=").join(", ")}`,
      unapplied: `SELECT 1 AS one WHERE NOT EXISTS (${stored})`,
      rows: [Object.values(fields)],
    };
  }

  async #removal(
    list: MirrorList,
    numbers: readonly number[],
  ): Promise<{ statements: Statement[]; changes: RecordChange[] }> {
    if (numbers.length === 0) return { statements: [], changes: [] };
    const table = tableOf(list.resource);
    const rows = numbers.map((number) => [number]);
    const changes: RecordChange[] = [];
    // Removed records are only read if there is a history.
    for (let start = 0; this.#isRecorded(list) && start < numbers.length; start += RECORDS_PER_READ) {
      const records = await this.#read(list, numbers.slice(start, start + RECORDS_PER_READ));
      for (const [number, record] of records)
        changes.push({ type: "removed", key: keyOf(list, number), before: { ...record }, after: null });
    }
    const commands = deleteSql(this.#database.dialect, table, warehouseCondition(list));
    return { statements: [{ ...commands, rows, columns: ["number"] }], changes };
  }

  /** Whether changes of the list are recorded: there is a history, and the first full pass of the list has ended. */
  #isRecorded(list: MirrorList): boolean {
    return this.#row.historyDays !== null && this.stateOf(list).asOf !== null;
  }

  async #read(list: MirrorList, numbers: readonly number[]): Promise<Map<number, MirrorRecord>> {
    const { dialect, query } = this.#database;
    const table = tableOf(list.resource);
    const field = numberFieldOf(list);
    const names = Object.keys(tableColumnsOf(table)).map((name) => `"${name}"`);
    const sql = `SELECT ${names.join(", ")} FROM ${dialect.nameOf(table.name)}
WHERE "${field}" IN ${dialect.numbersOf("$1")}${warehouseCondition(list)}`;
    const rows = await query(sql, [JSON.stringify(numbers)]);
    const codec = new RowCodec(table);
    return new Map(rows.map((row) => [Number(row[field]), codec.decode(row)]));
  }

  /** Commits statements, and records changes of a list in the same commit. */
  async #commit(
    statements: readonly Statement[],
    list?: MirrorList,
    changes: readonly RecordChange[] = [],
  ): Promise<void> {
    const recorded = list && this.#isRecorded(list) ? changes : [];
    const seq = this.#row.seq + recorded.length;
    const history =
      list === undefined || recorded.length === 0
        ? []
        : [recordChanges(this.#database, list.resource, recorded, this.#row.seq), this.#update({ seq })];
    await this.#database.commit(this.#row.version, [...statements, ...history]);
    this.#row = { ...this.#row, version: this.#row.version + 1, seq };
  }
}

/** Returns SQL that restricts a query to the rows of a list. */
const warehouseCondition = ({ wID }: MirrorList) => (wID === null ? "" : ` AND "wID" = ${wID}`);
