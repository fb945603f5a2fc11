import { isServiceError, judgeLots, type LotsOfItem } from "../client/for-add-ons.js";
import { type InventoryClient, type Item, NotFoundError, type RequestOptions } from "../client/index.js";
import { comparableSku } from "../service/key.js";
import { isSameValue } from "../service/same-value.js";
import { fieldOf } from "../shared/unknown.js";
import { inputOf, type StoredEntry } from "./entry.js";
import { hasMark, markOf } from "./marks.js";
import type { OpenStore } from "./store.js";

/** What the service shows of a write whose outcome is not known, once it can no longer take effect. */
export type Found =
  | { outcome: "applied"; result: object }
  /** It was not applied. */
  | { outcome: "absent"; reason: string }
  /** `lots`: record numbers of those that may be its own. */
  | { outcome: "unclear"; reason: string; lots?: number[] }
  /** The client may not read it, or cannot understand it. */
  | { outcome: "unreadable"; reason: string };

/** What is looked up, and how. */
export interface Search {
  client: InventoryClient;
  store: OpenStore;
  entry: StoredEntry;
  options: RequestOptions;
}

/**
 * Looks for the lot of a receipt. All lots of the item are read, found by its part number: the service may list another
 * spelling of the SKU. One with the mark of this entry is its own. It is absent if none has the mark, and each lot has the
 * mark of another receipt of this outbox, or was received long before. Any other lot may be its own, with a remark that the
 * service has cut off or a person has changed.
 */
export async function lookForLot({ client, store, entry, options }: Search): Promise<Found> {
  const input = inputOf(entry);
  let found: LotsOfItem;
  try {
    found = await client.inventory.readLotsOfItem(String(fieldOf(input, "itemID")), {}, options);
  } catch (error) {
    if (isNoSuchItem(error)) return { outcome: "unclear", reason: "the item cannot be found by its SKU" };
    throw error;
  }
  const mark = markOf(store.id, entry.key);
  const isMarked = hasMark(input, mark);
  const marks = await marksOfOthers(store, entry);
  const { sentAt, clockAheadMs } = entry;
  const { outcome, lots } = judgeLots(found, {
    isOwn: (lot) => isMarked && hasMark(lot, mark),
    // Anybody can copy the remark of a lot.
    isOthers: (lot) => marks.some((other) => hasMark(lot, other) && !hasMark(input, other)),
    sentAt: sentAt === null || clockAheadMs === null ? undefined : sentAt + clockAheadMs,
  });
  const recNos = lots.map(({ recNo }) => recNo);
  if (outcome === "applied") return { outcome, result: { recNo: recNos[0] } };
  if (outcome === "absent") return { outcome, reason: "no lot can be its own" };
  const reason =
    recNos.length > 0
      ? `lots ${recNos.slice(0, 10).join(", ")} may be its own`
      : "the service's list does not show all lots of the item for sure";
  return { outcome: "unclear", reason, lots: recNos };
}

/** A 404 of a proxy says nothing. */
export const isNoSuchItem = (error: unknown) => error instanceof NotFoundError && isServiceError(error);

/** The marks of the other receipts of the item, pruned ones included: a mark depends on the key alone. */
async function marksOfOthers(store: OpenStore, { key, lane }: StoredEntry): Promise<string[]> {
  const marks: string[] = [];
  for await (const other of store.list({ lane, pruned: true }))
    if (other.operation === "receive" && other.key !== key) marks.push(markOf(store.id, other.key));
  return marks;
}

const STATUS = { create: "created", update: "updated", discontinue: "discontinued" } as const;

/** Reads the item of a write. No matter who wrote it: an item that is as this write wants it counts as written by it. */
export async function lookAtItem({ client, entry, options }: Omit<Search, "store">): Promise<Found> {
  const { operation } = entry;
  if (operation !== "create" && operation !== "update" && operation !== "discontinue") throw new TypeError(operation);
  const { shortID, ...fields }: Record<string, unknown> = { ...inputOf(entry) };
  let item: Item;
  try {
    item = await client.items.get(String(shortID), options);
  } catch (error) {
    if (isNoSuchItem(error)) return { outcome: "absent", reason: "the item does not exist" };
    throw error;
  }
  const wanted = operation === "discontinue" ? { discontinued: true } : fields;
  const isAsSent =
    comparableSku(String(shortID)) === comparableSku(item.shortID) &&
    Object.entries(wanted).every(
      ([name, value]) => !Object.hasOwn(item, name) || isSameValue(value, fieldOf(item, name)),
    );
  if (!isAsSent) return { outcome: "unclear", reason: "the item differs from what was sent" };
  return { outcome: "applied", result: { shortID: item.shortID, status: STATUS[operation], item } };
}
