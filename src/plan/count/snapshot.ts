import * as z from "zod";
import { answerOf, probeModifiedSince } from "../../bulk/probes.js";
import { BulkRequests, type ReadWith } from "../../bulk/requests.js";
import { accountOf } from "../../client/for-add-ons.js";
import type { InventoryClient, Lot } from "../../client/index.js";
import type { Item } from "../../service/item.js";
import type { ListParams } from "../../service/list-params.js";
import { checkMethodOptions, integer, lazy } from "../../shared/schema.js";
import type { ServiceAccount } from "../../storage/service.js";
import { deepFreeze, parseDocument, withDigest } from "../document.js";
import { countListedItems, readItems } from "../read-items.js";
import { type ReadProgress, readingOptions, recordsWithProgress } from "../reader.js";
import { type BookLot, bookLotOf } from "./group.js";

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

/** The lots of a warehouse before a count. It is plain JSON: store it until the count is done. */
export interface CountSnapshot {
  /** What this document is. */
  format: "stocklot snapshot";
  /** Version of its form. */
  version: 3;
  /** The service that was read. */
  service: ServiceAccount;
  /** Warehouse ID. */
  wid: number;
  /** When it was complete: ISO 8601 in UTC, by the clock of this machine. */
  takenAt: string;
  /** The lots in stock. */
  lots: readonly BookLot[];
  /** The items of the lots, as a sheet for the people who count shows them. */
  items: readonly Pick<Item, "shortID" | "description" | "uOM">[];
  /**
   * Lots that were modified since then may have moved while people counted: 15 minutes before the snapshot, by the service's
   * clock. `null` if the snapshot does not show that the service honours `modifiedSince`, such as that of a warehouse without
   * lots: then a lot that was moved away and back cannot be noticed.
   */
  modifiedSince: string | null;
  /** The highest record number of a lot that was seen until then, in any warehouse; `null` if there was none. */
  lastRecNo: number | null;
  /** SHA-256 of the content. */
  digest: string;
}

const snapshotOptionsSchema = /* @__PURE__ */ lazy(() =>
  z.strictObject({
    ...readingOptions(),
    wid: integer(),
  }),
);

/** How far the dates of records may be behind the `Date` header, or the local clock ahead of the service's if there is none. */
const MAX_LAG_MS = 900_000;

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
  const { client, wid, signal, onProgress } = checkMethodOptions("takeSnapshot", snapshotOptionsSchema, options);
  const reader = new BulkRequests({ client, signal });
  const lots = await readBookLots(reader, wid, onProgress);
  const modifiedSince = await findModifiedSince(reader, lots.length);
  const items = await readBookItems(reader, new Set(lots.map(({ shortID }) => shortID)));
  const lastRecNo = (await readLastRecNo(reader, lots)) ?? null;
  const [service, takenAt] = [accountOf(client), new Date().toISOString()];
  return deepFreeze(withDigest({ ...FORMAT, service, wid, takenAt, lots, items, modifiedSince, lastRecNo }));
}

const FORMAT = { format: "stocklot snapshot", version: 3 } as const;

/** Restores a snapshot. Throws a `ConfigurationError` if it is none, or was changed. */
export const readSnapshot = (json: unknown): CountSnapshot =>
  parseDocument({ method: "planCount", noun: "snapshot" }, FORMAT, json);

/** The lots in stock in a warehouse. */
export async function readBookLots(
  { client, options }: ReadWith,
  wid: number,
  onProgress?: (progress: ReadProgress) => void,
): Promise<BookLot[]> {
  const lots: BookLot[] = [];
  const list = client.inventory.listLots({ wid }, { ...options, gapless: true });
  for await (const lot of recordsWithProgress(list, onProgress)) {
    const inStock = bookLotOf(lot);
    if (inStock) lots.push(inStock);
  }
  return lots;
}

async function readBookItems(reader: ReadWith, skus: ReadonlySet<string>): Promise<CountSnapshot["items"]> {
  if (skus.size === 0) return [];
  const found = await readItems(reader, [...skus], await countListedItems(reader));
  return [...found].map(([shortID, { description, uOM }]) => ({
    shortID,
    description: description ?? "",
    uOM: uOM ?? "",
  }));
}

/** From when on modified lots are listed, if the service honours `modifiedSince`: 15 minutes before the first response. */
async function findModifiedSince({ client, options, startedAt }: BulkRequests, lots: number): Promise<string | null> {
  if (lots === 0) return null;
  const now = startedAt ?? Date.now();
  const read = (params: ListParams) => client.inventory.listLots(params, options).page();
  if ((await probeModifiedSince(read, now)) !== "honoured") return null;
  // No full pass proves it, so the lots must be among those of all time. Meanwhile lots may have been removed, but not all.
  const { page } = await answerOf(read({ modifiedSince: new Date(0), pageSize: 1 }));
  return page && page.totalCount > 0 ? new Date(now - MAX_LAG_MS).toISOString() : null;
}

/**
 * The lots that were modified since a snapshot, or shortly before, in all warehouses, in stock or not: one may have been moved
 * on. None if the service cannot list them.
 */
export async function lotsModifiedSince(
  { modifiedSince }: Pick<CountSnapshot, "modifiedSince">,
  { client, options }: ReadWith,
): Promise<Lot[]> {
  if (modifiedSince === null) return [];
  return client.inventory.listLots({ modifiedSince }, { ...options, gapless: true }).toArray();
}

/** The highest record number that is known: of the lots with the highest numbers, and of all that the client has seen. */
async function readLastRecNo({ client, options }: ReadWith, lots: readonly BookLot[]): Promise<number | undefined> {
  const { receiptLookup } = client.inventory;
  // It only sharpens a remark: a client may not be allowed to list all warehouses.
  await receiptLookup.readLastRecNo(options).catch(() => {});
  options.signal?.throwIfAborted();
  const numbers = [receiptLookup.lastRecNo ?? Number.NaN, ...lots.map(({ recNo }) => recNo)];
  return numbers
    .filter(Number.isSafeInteger)
    .reduce<number | undefined>((most, one) => Math.max(most ?? one, one), undefined);
}

/** How many record numbers since the snapshot none of the lots has; `null` if these are not all lots since then. */
export async function countMissingRecNos(
  { modifiedSince, lastRecNo }: Pick<CountSnapshot, "modifiedSince" | "lastRecNo">,
  reader: ReadWith,
  lots: readonly Pick<Lot, "recNo">[],
): Promise<number | null> {
  if (modifiedSince === null || lastRecNo === null) return null;
  const highest = (await readLastRecNo(reader, [])) ?? lastRecNo;
  const listed = new Set(lots.flatMap(({ recNo }) => (recNo > lastRecNo && recNo <= highest ? [recNo] : [])));
  return Math.max(0, highest - lastRecNo) - listed.size;
}
