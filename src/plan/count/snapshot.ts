import * as z from "zod";
import { probeModifiedSince } from "../../bulk/probes.js";
import { BulkRequests, type ReadWith } from "../../bulk/requests.js";
import { accountOf } from "../../client/for-add-ons.js";
import type { InventoryClient, Lot } from "../../client/index.js";
import type { Item } from "../../service/item.js";
import type { ListParams } from "../../service/list-params.js";
import { checkMethodOptions, integer, lazy } from "../../shared/schema.js";
import type { ServiceAccount } from "../../storage/service.js";
import { deepFreeze, parseDocument, withDigest } from "../document.js";
import { countListedItems, readItems } from "../read-items.js";
import { commonOptions, type ReadProgress, recordsWithProgress } from "../reader.js";
import { type BookLot, bookLotOf } from "./group.js";

/** Options of {@link takeSnapshot}. */
export interface SnapshotOptions {
  /** The client that reads the lots. */
  client: InventoryClient;
  /** Warehouse ID. */
  wid: number;
  /**
   * Ends the reading. `takeSnapshot` rejects with the signal's reason.
   * @default none
   */
  signal?: AbortSignal | null | undefined;
  /**
   * Called after each page of lots. An error is logged and has no other effect.
   * @default none
   */
  onProgress?: ((progress: ReadProgress) => void) | undefined;
}

/** The lots of a warehouse before a count. A snapshot is plain JSON: store it until the count is done. */
export interface CountSnapshot {
  /** The kind of the document. */
  format: "stocklot snapshot";
  /** The version of the format. */
  version: 3;
  /** The service that was read. */
  service: ServiceAccount;
  /** Warehouse ID. */
  wid: number;
  /** When the snapshot was complete: ISO 8601 in UTC, by the clock of this machine. */
  takenAt: string;
  /** The lots in stock. */
  lots: readonly BookLot[];
  /** The items of the lots, for the sheets of the people who count. */
  items: readonly Pick<Item, "shortID" | "description" | "uOM">[];
  /**
   * 15 minutes before the snapshot, by the service's clock. Lots that were modified since then may have moved while
   * people counted. `null` if nothing proves that the service honours `modifiedSince`, for example in a warehouse
   * without lots. Then nobody notices a lot that was moved away and back.
   */
  modifiedSince: string | null;
  /** The highest record number of all lots that the client had seen, in any warehouse; `null` if it had seen none. */
  lastRecNo: number | null;
  /** SHA-256 of the content. */
  digest: string;
}

const snapshotOptionsSchema = /* @__PURE__ */ lazy(() =>
  z.strictObject({
    ...commonOptions(),
    wid: integer(),
  }),
);

/** How far dates of records may be behind the `Date` header (without a header: behind the local clock), in ms. */
const MAX_LAG_MS = 900_000;

/**
 * Reads the lots of a warehouse before people count. {@link planCount} reads the lots again: if the lots of an item
 * have moved meanwhile, its count cannot be compared.
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

/** Restores a snapshot. Throws a `ConfigurationError` if the JSON is not a snapshot, or was changed. */
export const readSnapshot = (json: unknown): CountSnapshot =>
  parseDocument({ method: "planCount", noun: "snapshot" }, FORMAT, json);

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

/** Returns `modifiedSince` of the snapshot: 15 minutes before the first response, if the service honours it. */
async function findModifiedSince(
  { client, options, serviceTimeAtStart }: BulkRequests,
  lots: number,
): Promise<string | null> {
  if (lots === 0) return null;
  const now = serviceTimeAtStart ?? Date.now();
  const read = (params: ListParams) => client.inventory.listLots(params, options).page();
  const isHonoured = (await probeModifiedSince(read, now)) === "honoured";
  return isHonoured ? new Date(now - MAX_LAG_MS).toISOString() : null;
}

/**
 * Returns the lots that were modified since a snapshot or shortly before, in stock or not. It reads all warehouses,
 * because a lot may have been moved to another one. Returns none if the service cannot list these lots.
 */
export async function lotsModifiedSince(
  { modifiedSince }: Pick<CountSnapshot, "modifiedSince">,
  { client, options }: ReadWith,
): Promise<Lot[]> {
  if (modifiedSince === null) return [];
  return client.inventory.listLots({ modifiedSince }, { ...options, gapless: true }).toArray();
}

/** Returns the highest record number of these lots, the service's newest lots, and all lots the client has seen. */
async function readLastRecNo({ client, options }: ReadWith, lots: readonly BookLot[]): Promise<number | undefined> {
  const { receiptLookup } = client.inventory;
  // A client may not be allowed to list all warehouses. Then only `missingRecNos` is less exact.
  await receiptLookup.readLastRecNo(options).catch(() => {});
  options.signal?.throwIfAborted();
  const numbers = [receiptLookup.lastRecNo ?? Number.NaN, ...lots.map(({ recNo }) => recNo)];
  return numbers
    .filter(Number.isSafeInteger)
    .reduce<number | undefined>((most, one) => Math.max(most ?? one, one), undefined);
}

/** Counts the record numbers since the snapshot that no lot has; `null` if the lots since then are not known. */
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
