import * as z from "zod";
import { probeModifiedSince } from "../../client/for-add-ons.js";
import type { InventoryClient } from "../../client/index.js";
import type { Lot } from "../../service/lot.js";
import { checkMethodOptions } from "../../shared/check.js";
import { integer, lazy, string } from "../../shared/field.js";
import { requiredOption } from "../../shared/option.js";
import { sleep } from "../../shared/time/wait.js";
import type { ServiceIdentity } from "../../storage/service.js";
import { deepFreeze, parseDocument, serviceSchema, withDigest } from "../document.js";
import { PlanReader, type ReadProgress, readingOptions, recordsOf } from "../plan-reader.js";
import { countListedItems, readItems } from "../read-items.js";
import { type BookLot, bookLotOf, bookLotSchema } from "./group.js";

/** Options of {@link takeSnapshot}. */
export interface SnapshotOptions {
  /** The client that reads the lots. */
  client: InventoryClient;
  /** Warehouse ID. */
  wid: number;
  /**
   * Ends the reading, which rejects with the signal's reason.
   * @default none
   */
  signal?: AbortSignal | null | undefined;
  /**
   * Called after each page of lots. An error is logged and has no other effect.
   * @default none
   */
  onProgress?: ((progress: ReadProgress) => void) | undefined;
}

/** An item of the books, as a sheet for the people who count shows it. */
export interface BookItem {
  /** SKU. */
  shortID: string;
  /** Item description. */
  description: string;
  /** Unit of measure. */
  uOM: string;
}

/** The lots of a warehouse before a count. It is plain JSON: store it until the count is done. */
export interface CountSnapshot {
  /** What this document is. */
  format: "stocklot snapshot";
  /** Version of its form. */
  version: 1;
  /** The service that was read. */
  service: ServiceIdentity;
  /** Warehouse ID. */
  wid: number;
  /** When it was complete: ISO 8601 in UTC, by the clock of this machine. */
  takenAt: string;
  /** The lots in stock. */
  lots: readonly BookLot[];
  /** The items of the lots. */
  items: readonly BookItem[];
  /**
   * How lots that are modified later are found; null if the snapshot does not show that the service honours
   * `modifiedSince`, such as that of a warehouse without lots: then a lot that was moved away and back cannot be noticed.
   */
  modified: {
    /** Some time before the end of the snapshot: the dates of records may be behind. */
    since: string;
    /** Record numbers of the lots that were modified since then, but before the end of the snapshot. */
    recent: readonly number[];
    /** A moment right after the end, by the service's clock; null if that is unknown. */
    end: string | null;
    /**
     * Record numbers of lots with a later date than `end`, although the snapshot has them: the dates of records are
     * ahead.
     */
    ahead: readonly number[];
  } | null;
  /** SHA-256 of the content. */
  digest: string;
}

const optionsSchema = /* @__PURE__ */ lazy(() =>
  z.strictObject({
    ...readingOptions(),
    wid: requiredOption(integer()),
  }),
);

const snapshotSchema = /* @__PURE__ */ lazy(() =>
  z.strictObject({
    format: z.literal("stocklot snapshot"),
    version: z.literal(1),
    service: serviceSchema(),
    wid: integer(),
    takenAt: string(),
    lots: z.array(bookLotSchema()),
    items: z.array(z.strictObject({ shortID: string(), description: string(), uOM: string() })),
    modified: z
      .strictObject({
        since: string(),
        recent: z.array(integer()),
        end: string().nullable(),
        ahead: z.array(integer()),
      })
      .nullable(),
  }),
);

/** How far the dates of records may be behind the `Date` header, or the local clock ahead of the service's if there is none. */
const MAX_LAG_MS = 900_000;
const SECOND_MS = 1_000;

/**
 * Reads the lots of a warehouse before people count. {@link planCount} compares them with the lots at that time: what moved
 * meanwhile cannot be compared with a count.
 *
 * Source: `GET /Inventory/{wid}`, `GET /Item/All`.
 *
 * @experimental
 * @example
 * import { writeFile } from "node:fs/promises";
 * import { takeSnapshot } from "stocklot/plan";
 *
 * const snapshot = await takeSnapshot({ client, wid: 3 });
 * await writeFile("before.json", JSON.stringify(snapshot));
 * @throws InputValidationError if an option is wrong.
 * @throws what the client throws if the lots cannot be read.
 */
export async function takeSnapshot(options: SnapshotOptions): Promise<CountSnapshot> {
  checkMethodOptions("takeSnapshot", optionsSchema, options);
  const { client, wid, signal, onProgress } = options;
  signal?.throwIfAborted();
  const reader = new PlanReader(client, signal);
  const lots = await readBookLots(reader, wid, onProgress);
  const items = await readBookItems(reader, new Set(lots.map(({ shortID }) => shortID)));
  const modified = await observeModifications(reader, wid, lots.length);
  const { id, address } = client.service;
  return deepFreeze(
    withDigest({
      format: "stocklot snapshot",
      version: 1,
      service: { id, address },
      wid,
      takenAt: new Date().toISOString(),
      lots,
      items,
      modified,
    }),
  );
}

/** Restores a snapshot. Throws a `ConfigurationError` if it is none, or was changed. */
export const readSnapshot = (json: unknown) =>
  parseDocument({ method: "planCount", noun: "snapshot", schema: snapshotSchema }, json);

/** The lots in stock in a warehouse. */
export async function readBookLots(
  { client, options }: PlanReader,
  wid: number,
  onProgress?: (progress: ReadProgress) => void,
): Promise<BookLot[]> {
  const lots: BookLot[] = [];
  for await (const lot of recordsOf(client.inventory.listLots({ wid }, { ...options, gapless: true }), onProgress)) {
    const inStock = bookLotOf(lot);
    if (inStock) lots.push(inStock);
  }
  return lots;
}

async function readBookItems(reader: PlanReader, skus: ReadonlySet<string>): Promise<BookItem[]> {
  if (skus.size === 0) return [];
  const found = await readItems(reader, [...skus], await countListedItems(reader));
  return [...found].map(([shortID, { description, uOM }]) => ({
    shortID,
    description: description ?? "",
    uOM: uOM ?? "",
  }));
}

/*
 * How lots that are modified after a snapshot are found. The service lists lots whose date of modification is not before
 * a moment. That date may be behind the `Date` header or ahead of it, so no moment alone separates what is modified later:
 *
 *   since               15 minutes before the snapshot ends. However far dates are behind, a later modification has a
 *                       later date.
 *   snapshot            the lots modified since `since` are listed: `recent`. The snapshot has these modifications, or
 *                       the comparison of lots shows them.
 *   end                 the next full second by the `Date` header, which has no smaller unit. The snapshot waits for a
 *                       second, so that whatever is modified after it is modified after `end`.
 *   snapshot            the lots modified since `end` are listed: `ahead`. Their dates are ahead, so their being listed
 *                       again proves nothing.
 *   people count
 *   plan                the lots modified since `since`, without `recent`: each was modified later. A lot of `recent` may
 *                       have been modified again: it was if it is listed since `end`, and is not one of `ahead`.
 *
 * What is not noticed: a lot of `recent` that is modified later with a date before `end`, and one of `ahead`.
 */

/** From here on, modifications can be found. */
async function observeModifications(reader: PlanReader, wid: number, lots: number): Promise<CountSnapshot["modified"]> {
  const now = () => reader.lastDate ?? Date.now();
  const { client, options } = reader;
  const count = async (modifiedSince: Date) =>
    (await client.inventory.listLots({ wid, modifiedSince, pageSize: 1 }, options).page()).totalCount;
  // Meanwhile lots may have been removed, but not all of them.
  if ((await probeModifiedSince(count, Math.min(lots, 1), now())) !== "honoured") return null;
  const since = new Date(now() - MAX_LAG_MS).toISOString();
  const recent = numbersOf(await readModifiedLots(reader, wid, since));
  // Without recent lots, a second list has nothing to tell apart. Without a `Date` header, it cannot.
  if (recent.length === 0 || reader.lastDate === undefined) return { since, recent, end: null, ahead: [] };
  const end = new Date(reader.lastDate + SECOND_MS).toISOString();
  await sleep(SECOND_MS, options.signal ?? undefined);
  options.signal?.throwIfAborted();
  return { since, recent, end, ahead: numbersOf(await readModifiedLots(reader, wid, end)) };
}

const numbersOf = (lots: readonly Lot[]): number[] => lots.map(({ recNo }) => recNo);

/** The lots of a warehouse that were modified since a moment, in stock or not. */
const readModifiedLots = ({ client, options }: PlanReader, wid: number, since: string): Promise<Lot[]> =>
  client.inventory.listLots({ wid, modifiedSince: since }, { ...options, gapless: true }).toArray();

/** The lots that were modified after the end of a snapshot, in stock or not; none if the service cannot list them. */
export async function lotsModifiedAfter(
  { modified, wid }: Pick<CountSnapshot, "modified" | "wid">,
  reader: PlanReader,
): Promise<Lot[]> {
  if (!modified) return [];
  const recent = new Set(modified.recent);
  const modifiedLots = await readModifiedLots(reader, wid, modified.since);
  const later = modifiedLots.filter(({ recNo }) => !recent.has(recNo));
  // If no recent lot is in this list, none is in the shorter one since `end`.
  if (modified.end === null || later.length === modifiedLots.length) return later;
  const ahead = new Set(modified.ahead);
  const afterEnd = await readModifiedLots(reader, wid, modified.end);
  return [...later, ...afterEnd.filter(({ recNo }) => recent.has(recNo) && !ahead.has(recNo))];
}
