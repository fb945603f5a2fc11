import * as z from "zod";
import type { Item } from "../service/item.js";
import type { Lot } from "../service/lot.js";
import type { StockLevel } from "../service/stock-level.js";
import { ConfigurationError } from "../shared/errors/index.js";
import { objectWithMethodsSchema, valueThat } from "../shared/option.js";
import { checkConfiguration, checkInput, integer, type LazySchema, lazy, optionalFields } from "../shared/schema.js";
import { type CopyChangesFilter, type MirrorChange, readChanges } from "./copy/changes.js";
import type { CopyDatabase } from "./copy/database.js";
import { RowCodec } from "./copy/row-codec.js";
import { findSql } from "./copy/sql.js";
import { type MirrorListStatus, readListRows, readStatus } from "./copy/status.js";
import type { MirrorSink } from "./options.js";
import {
  listName,
  type MirrorList,
  type MirrorRecords,
  type MirrorResource,
  RESOURCES,
  tableOf,
  type WarehouseStockLevel,
} from "./tables.js";

/*
 * Reads a copy without a client, beside the mirror that writes it.
 *
 * Each iteration first checks that the lists it needs were read to their end: otherwise records that are missing in the
 * copy would look like records that the service does not have. Then each batch is one query, which continues after the
 * last key of the batch before. So no transaction stays open while the caller works, and each batch shows the copy at
 * the time of its query.
 */

const ROWS_PER_QUERY = 1_000;

/** Selects items. An item must match all fields that are given. */
export interface CopyItemFilter {
  /** The SKU, without regard to case and surrounding spaces. */
  shortID?: string | undefined;
  /** The part number. */
  partNo?: number | undefined;
  /** ID of the category. */
  category?: number | undefined;
}

/** Selects stock levels. A stock level must match all fields that are given. */
export interface CopyStockLevelFilter {
  /** The SKU of the item, without regard to case and surrounding spaces. For stock levels, the copy must have items. */
  shortID?: string | undefined;
  /** The part number of the item. */
  partNo?: number | undefined;
  /**
   * ID of a warehouse. For stock levels, the mirror must read this warehouse (option `warehouses`); without `wID`,
   * stock levels are the sums of all warehouses.
   */
  wID?: number | undefined;
}

/** Selects lots. A lot must match all fields that are given. */
export interface CopyLotFilter extends CopyStockLevelFilter {
  /** The bin, exactly as served. */
  spot?: string | undefined;
  /** The serial number, exactly as served. */
  serial?: string | undefined;
  /** The RFID tag, exactly as served. */
  rFIDTag?: string | undefined;
}

/**
 * Opens the copy of a mirror to read it. This needs no client, and works while a mirror writes the copy. Nothing is
 * written, so a read-only file or the right to `SELECT` is enough.
 *
 * @experimental
 * @example
 * import { openCopy, sqliteSink } from "stocklot/mirror";
 *
 * const copy = await openCopy(sqliteSink({ path: "stock.db" }));
 * for await (const lot of copy.lots({ shortID: "BOLT-M8" }))
 *   console.log(lot.spot, lot.units);
 * await copy.close();
 * @throws ConfigurationError when there is no copy, or another version of the package wrote it.
 * @throws StorageError when the database fails.
 */
export async function openCopy(sink: MirrorSink): Promise<MirrorCopy> {
  const requirement = "must be created by sqliteSink or postgresSink";
  const given = checkConfiguration("openCopy", objectWithMethodsSchema(["openReader"], requirement), sink);
  const database = await given.openReader();
  if (database !== undefined) return new MirrorCopy(database);
  throw new ConfigurationError(
    "openCopy: there is no copy here. Run a mirror first, or correct the path or the schema.",
  );
}

/** Created by {@link openCopy}. */
export class MirrorCopy {
  readonly #database: CopyDatabase;
  #isClosed = false;

  /** @internal */
  constructor(database: CopyDatabase) {
    this.#database = database;
  }

  /**
   * Items as they were served, in any order. A documented field that the service left out is `null`.
   *
   * @throws InputValidationError when the filter is wrong.
   * @throws ConfigurationError when the copy has no items, or their first full pass has not ended.
   * @throws StorageError when the database fails.
   */
  async *items(filter: CopyItemFilter = {}): AsyncGenerator<Item, void, undefined> {
    yield* this.#find("copy.items", "items", checkFilter("copy.items", itemFilterSchema, filter), [
      { resource: "items", wID: null },
    ]);
  }

  /** Lots as they were served, in any order. Everything else is as for {@link items}. */
  async *lots(filter: CopyLotFilter = {}): AsyncGenerator<Lot, void, undefined> {
    yield* this.#find("copy.lots", "lots", checkFilter("copy.lots", lotFilterSchema, filter), [
      { resource: "lots", wID: null },
    ]);
  }

  /**
   * Stock levels of one warehouse with `wID`, otherwise the sums of all warehouses. Everything else is as for {@link
   * items}.
   */
  stockLevels(filter: CopyStockLevelFilter & { wID: number }): AsyncGenerator<WarehouseStockLevel, void, undefined>;
  /**
   * Stock levels of one warehouse with `wID`, otherwise the sums of all warehouses. Everything else is as for {@link
   * items}.
   */
  stockLevels(filter?: CopyStockLevelFilter): AsyncGenerator<StockLevel, void, undefined>;
  async *stockLevels(filter: CopyStockLevelFilter = {}): AsyncGenerator<StockLevel, void, undefined> {
    const where = checkFilter("copy.stockLevels", stockLevelFilterSchema, filter);
    const resource = filter.wID === undefined ? "stockLevels" : "warehouseStockLevels";
    // Stock levels have no SKU: it is looked up among the items.
    const needed: MirrorList[] = filter.shortID === undefined ? [] : [{ resource: "items", wID: null }];
    yield* this.#find("copy.stockLevels", resource, where, [{ resource, wID: filter.wID ?? null }, ...needed]);
  }

  /**
   * The changes in the history of the copy, by ascending `seq`, which is the order of commits. To continue later, pass
   * the `seq` of the last change as `after`. No change is skipped.
   *
   * @throws InputValidationError when the filter is wrong, or rows after `after` have expired.
   * @throws ConfigurationError when the copy has no history, or rows expire before they are read.
   * @throws StorageError when the database fails.
   */
  async *changes(filter: CopyChangesFilter = {}): AsyncGenerator<MirrorChange, void, undefined> {
    const { after, resource, key } = checkInput("copy.changes", changesFilterSchema, filter);
    this.#assertOpen("copy.changes");
    for await (const change of readChanges(this.#database, { after, resource, key })) {
      yield change;
      this.#assertOpen("copy.changes");
    }
  }

  /** How complete and how recent the copy of each list is: the rows of `mirror_status`. */
  async status(): Promise<MirrorListStatus[]> {
    this.#assertOpen("copy.status");
    return await readStatus(this.#database);
  }

  /** Closes the file or connection. A pool or client that was passed to the sink stays open. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    await this.#database.close();
  }

  /** The same as {@link close}, for `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** @param needed The lists that must have been read to their end. */
  async *#find<R extends MirrorResource>(
    method: string,
    resource: R,
    where: CopyFilter,
    needed: readonly MirrorList[],
  ): AsyncGenerator<MirrorRecords[R], void, undefined> {
    this.#assertOpen(method);
    await this.#assertComplete(method, needed);
    const table = tableOf(resource);
    const codec = new RowCodec(table);
    for (let last: number[] | undefined = []; last !== undefined; ) {
      // SQLite is read synchronously: a long iteration must not stop the rest of the process.
      await new Promise(setImmediate);
      const { sql, values } = findSql(this.#database.dialect, table, where, last, ROWS_PER_QUERY);
      const rows = await this.#database.query(sql, values);
      // A mirror may drop the list meanwhile.
      await this.#assertComplete(method, needed);
      for (const row of rows) {
        // The rows of a resource were encoded from its records.
        yield codec.decode(row) as MirrorRecords[R];
        this.#assertOpen(method);
      }
      const end = rows.at(ROWS_PER_QUERY - 1);
      last = end && table.key.map((field) => Number(end[field]));
    }
  }

  /**
   * Throws if the copy is closed. Also called between two queries: a query after the close would connect to PostgreSQL
   * again.
   */
  #assertOpen(method: string): void {
    if (this.#isClosed) throw new ConfigurationError(`${method}: the copy was closed. Open it again.`);
  }

  async #assertComplete(method: string, needed: readonly MirrorList[]): Promise<void> {
    const rows = await readListRows(this.#database);
    for (const list of needed) {
      const name = listName(list);
      const row = rows.find((known) => listName(known.list) === name);
      if (row?.state.asOf != null) continue;
      throw new ConfigurationError(
        row
          ? `${method}: the copy of ${name} is incomplete, since its first full pass has not ended. Wait for it.`
          : `${method}: the copy has no ${name}, since no mirror reads them. ${MIRROR_ADVICE}`,
      );
    }
  }
}

const MIRROR_ADVICE = "Name the resource in the option resources of the mirror, or the warehouse in warehouses.";

/** A string that both databases can store in a column. */
const storable = () =>
  valueThat<string>(
    (value) => typeof value === "string" && value.isWellFormed() && !value.includes("\0"),
    "must be a string without NUL and unpaired surrogates",
  );

const filterSchemaOf = (shape: () => z.ZodRawShape): LazySchema<z.ZodObject> =>
  lazy(() => z.strictObject(optionalFields(shape())));

const itemFilterSchema = filterSchemaOf(() => ({ shortID: storable(), partNo: integer(), category: integer() }));
const stockLevelFilterSchema = filterSchemaOf(() => ({
  shortID: storable(),
  partNo: integer(),
  wID: integer(),
}));
const lotFilterSchema = filterSchemaOf(() => ({
  ...stockLevelFilterSchema().shape,
  spot: storable(),
  serial: storable(),
  rFIDTag: storable(),
}));

const changesFilterSchema = lazy(() =>
  z.strictObject({
    after: integer().min(0).optional(),
    resource: z.enum(RESOURCES).optional(),
    key: z.union([integer(), storable()]).optional(),
  }),
);

/** Values of fields. */
type CopyFilter = Readonly<Record<string, string | number>>;

/** Returns the values to look for. Fields that are `undefined` are left out. */
function checkFilter(method: string, schema: LazySchema<z.ZodObject>, filter: object): CopyFilter {
  const given = Object.entries(checkInput(method, schema, filter, [], { noun: "field" }));
  return Object.fromEntries(given.filter(([, value]) => value !== undefined));
}
