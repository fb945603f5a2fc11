import * as z from "zod";
import type { Item } from "../service/item.js";
import type { Lot } from "../service/lot.js";
import type { StockLevel } from "../service/stock-level.js";
import { checkConfiguration, checkInput } from "../shared/check.js";
import { ConfigurationError } from "../shared/errors/index.js";
import { wording } from "../shared/errors/wording.js";
import { integer, type LazySchema, lazy, optionalFields } from "../shared/field.js";
import { objectWithMethodsSchema, valueThat } from "../shared/option.js";
import { assertNotExpired, type MirrorChange } from "./copy/history.js";
import { type MirrorState, parseMirrorState } from "./copy/state.js";
import { type MirrorStatus, mirrorStatusOf } from "./copy/status.js";
import type { MirrorReader, MirrorSink } from "./sink.js";
import {
  type MirrorKey,
  type MirrorRecords,
  type MirrorResource,
  mirrorListOf,
  mirrorListOfId,
  RESOURCES,
  type WarehouseStockLevel,
} from "./tables.js";

/*
 * Reading a copy without a client, beside the mirror that writes it.
 *
 * Each iteration reads the saved state first. It is rejected unless the lists that it needs were read to their end: a copy
 * that lacks records would otherwise look like a service that has none. Then it reads batch after batch (`createSqlReader`).
 */

/** Options of {@link openCopy}. */
export interface OpenCopyOptions {
  /**
   * Reads resources whose first full pass has not ended, too. They lack records.
   * @default false
   */
  incomplete?: boolean | undefined;
}

/** Which items to read: those that have all of these values. */
export interface CopyItemFilter {
  /** The SKU, without regard to case and surrounding spaces. */
  shortID?: string | undefined;
  /** The part number. */
  partNo?: number | undefined;
  /** ID of the category. */
  category?: number | undefined;
}

/** Which lots to read: those that have all of these values. */
export interface CopyLotFilter {
  /** The SKU of the item, without regard to case and surrounding spaces. */
  shortID?: string | undefined;
  /** The part number of the item. */
  partNo?: number | undefined;
  /** ID of the warehouse. */
  wID?: number | undefined;
  /** The bin, exactly as served. */
  spot?: string | undefined;
  /** The serial number, exactly as served. */
  serial?: string | undefined;
  /** The RFID tag, exactly as served. */
  rFIDTag?: string | undefined;
}

/** Which stock levels to read: those that have all of these values. */
export interface CopyStockLevelFilter {
  /** The SKU of the item, without regard to case and surrounding spaces. Requires that the copy has items. */
  shortID?: string | undefined;
  /** The part number of the item. */
  partNo?: number | undefined;
  /** ID of a warehouse: its levels, which the mirror reads with the option `warehouses`. By default the sums of all. */
  wID?: number | undefined;
}

/** Which changes to read: those that have all of these values. */
export interface CopyChangesFilter {
  /**
   * The `seq` of a change, its number: those that follow it.
   * @default the changes from the oldest on
   */
  after?: number | undefined;
  /** The resource. */
  resource?: MirrorResource | undefined;
  /** The key of a record. */
  key?: MirrorKey | undefined;
}

const openCopyOptionsSchema = lazy(() => z.strictObject({ incomplete: z.boolean().optional() }));

/**
 * Opens the copy of a mirror to read it, without a client, also while a mirror writes it. Nothing is written: a file that is
 * read-only, or the right to `SELECT`, is enough.
 *
 * @experimental
 * @example
 * import { openCopy, sqliteSink } from "stocklot/mirror";
 *
 * const copy = await openCopy(sqliteSink({ path: "stock.db" }));
 * for await (const lot of copy.lots({ shortID: "BOLT-M8" })) console.log(lot.spot, lot.units);
 * await copy.close();
 * @throws ConfigurationError when there is no copy, another version of the package wrote it, or nothing in it is complete.
 * @throws what the sink throws.
 */
export async function openCopy(sink: MirrorSink, options: OpenCopyOptions = {}): Promise<MirrorCopy> {
  const requirement = "must be a sink with openReader(), such as sqliteSink or postgresSink";
  checkConfiguration("openCopy", objectWithMethodsSchema(["openReader"], requirement), sink);
  checkConfiguration("openCopy", openCopyOptionsSchema(), options);
  const reader = await sink.openReader?.();
  if (reader === undefined) throw noCopyError();
  const copy = new MirrorCopy(reader, options);
  try {
    const { resources } = await copy.status();
    const isReadable = options.incomplete || Object.values(resources).some(({ asOf }) => asOf !== null);
    if (!isReadable) throw incompleteError("openCopy", "the service");
    return copy;
  } catch (error) {
    await copy.close();
    throw error;
  }
}

const noCopyError = () =>
  new ConfigurationError("openCopy: there is no copy here. Run a mirror first, or correct the path or the schema.");

/** Created by {@link openCopy}. */
export class MirrorCopy {
  readonly #reader: MirrorReader;
  readonly #includesIncomplete: boolean;
  #isClosed = false;

  /** @internal */
  constructor(reader: MirrorReader, { incomplete = false }: OpenCopyOptions) {
    this.#reader = reader;
    this.#includesIncomplete = incomplete;
  }

  /**
   * Items as they were served, in any order. A documented field that the service left out is `null`.
   *
   * @throws InputValidationError when the filter is wrong.
   * @throws ConfigurationError when the copy has no items, or their first full pass has not ended.
   * @throws what the sink throws.
   */
  async *items(filter: CopyItemFilter = {}): AsyncGenerator<Item, void, undefined> {
    yield* this.#find("copy.items", "items", checkFilter("copy.items", itemFilterSchema, filter), ["items"]);
  }

  /** Lots, in the same way. */
  async *lots(filter: CopyLotFilter = {}): AsyncGenerator<Lot, void, undefined> {
    yield* this.#find("copy.lots", "lots", checkFilter("copy.lots", lotFilterSchema, filter), ["lots"]);
  }

  /** Stock levels, in the same way: those of one warehouse with `wID`, otherwise the sums of all. */
  stockLevels(filter: CopyStockLevelFilter & { wID: number }): AsyncGenerator<WarehouseStockLevel, void, undefined>;
  /** Stock levels, in the same way: those of one warehouse with `wID`, otherwise the sums of all. */
  stockLevels(filter?: CopyStockLevelFilter): AsyncGenerator<StockLevel, void, undefined>;
  async *stockLevels(filter: CopyStockLevelFilter = {}): AsyncGenerator<StockLevel, void, undefined> {
    const where = checkFilter("copy.stockLevels", stockLevelFilterSchema, filter);
    const resource = filter.wID === undefined ? "stockLevels" : "warehouseStockLevels";
    // Stock levels have no SKU: it is looked up among the items.
    const needed = [mirrorListOf(resource, filter.wID).id, ...(filter.shortID === undefined ? [] : ["items"])];
    yield* this.#find("copy.stockLevels", resource, where, needed);
  }

  /**
   * The changes that the history of the copy has, in the order of their `seq`, which is that of commits. With the `seq` of
   * the last one as `after`, a later call continues behind it.
   *
   * @throws InputValidationError when the filter is wrong, or rows behind `after` have expired.
   * @throws ConfigurationError when the copy has no history.
   * @throws what the sink throws.
   */
  async *changes(filter: CopyChangesFilter = {}): AsyncGenerator<MirrorChange, void, undefined> {
    const { after, resource, key } = checkInput("copy.changes", changesFilterSchema, filter);
    const { history } = await this.#readState("copy.changes");
    if (history?.days === undefined) throw noHistoryError();
    const oldest = await this.#oldestChange();
    const start = after ?? (oldest ?? history.seq + 1) - 1;
    assertNotExpired("copy.changes", history, start, oldest);
    for await (const changes of this.#reader.changes({ after: start, resource, key })) {
      yield* changes;
      this.#assertOpen("copy.changes");
    }
  }

  /** How complete and how recent the copy is: the same as `mirror.status()`. */
  async status(): Promise<MirrorStatus> {
    const state = await this.#readState("copy.status");
    const lists = (state.mirrored ?? Object.keys(state.lists)).flatMap(mirrorListOfId);
    return mirrorStatusOf(state, lists, Date.now());
  }

  /** Closes the file or connection. A pool or client that was passed to the sink stays open. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    await this.#reader.close();
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
    needed: readonly string[],
  ): AsyncGenerator<MirrorRecords[R], void, undefined> {
    const state = await this.#readState(method);
    for (const id of needed) this.#assertReadable(method, id, state);
    for await (const records of this.#reader.find(resource, where)) {
      yield* records;
      this.#assertOpen(method);
    }
  }

  async #oldestChange(): Promise<number | undefined> {
    for await (const [first] of this.#reader.changes({ after: 0 })) return first?.seq;
    return undefined;
  }

  async #readState(method: string): Promise<MirrorState> {
    this.#assertOpen(method);
    const saved = await this.#reader.readState();
    if (saved === undefined) throw noCopyError();
    return parseMirrorState(saved);
  }

  /** Also between two batches: the reader of PostgreSQL would connect again. */
  #assertOpen(method: string): void {
    if (this.#isClosed) throw new ConfigurationError(`${method}: the copy was closed. Open it again.`);
  }

  #assertReadable(method: string, listId: string, { lists, mirrored = [] }: MirrorState): void {
    if (lists[listId]?.lastPass !== undefined) return;
    if (lists[listId] === undefined && !mirrored.includes(listId)) {
      throw new ConfigurationError(
        `${method}: the copy has no ${listId}, since no mirror reads them. ${MIRROR_ADVICE}`,
      );
    }
    if (this.#includesIncomplete) return;
    throw incompleteError(method, listId);
  }
}

const noHistoryError = () =>
  new ConfigurationError(
    "copy.changes: the copy has no history. Create its mirror with the option history: { days }; changes from then on are recorded.",
  );

const incompleteError = (method: string, what: string) =>
  new ConfigurationError(
    `${method}: the copy of ${what} is incomplete, since the first full pass has not ended. ` +
      `Wait for it${wording().orReadIncomplete}.`,
  );

const MIRROR_ADVICE = "Name the resource in the option resources of the mirror, or the warehouse in warehouses.";

/** No database stores another string in a column. */
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

/** The values to look for; those that are `undefined` are left out. */
function checkFilter(method: string, schema: LazySchema<z.ZodObject>, filter: object): CopyFilter {
  const given = Object.entries(checkInput(method, schema, filter, [], { noun: "field" }));
  return Object.fromEntries(given.filter(([, value]) => value !== undefined));
}
