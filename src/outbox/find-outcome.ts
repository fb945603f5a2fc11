import { type LookedUpReceipt, receiptTexts, wasWrittenAfter } from "../client/for-add-ons.js";
import type { InventoryClient, Item, RequestOptions } from "../client/index.js";
import { comparableSku } from "../service/key.js";
import { isSameValue } from "../service/same-value.js";
import { isNoSuchItem } from "../shared/errors/api-errors.js";
import { fieldOf, undefinedIf } from "../shared/unknown.js";
import { skuOfInput } from "../writes/operation.js";
import { inputOf, type StoredEntry } from "./entry.js";
import { hasMark, markOf, showsMark } from "./marks.js";
import type { OpenStore } from "./store.js";

/** The result of looking up a write that can no longer take effect. */
export type LookUpResult =
  | { outcome: "applied"; result: object }
  /** The write was not applied. */
  | { outcome: "absent"; reason: string }
  /** `lots`: record numbers of the lots that may be the receipt's own. */
  | { outcome: "unclear"; reason: string; lots?: number[] }
  /** The client may not read the record, or cannot understand it. */
  | { outcome: "unreadable"; reason: string };

export interface OutcomeLookUp {
  client: InventoryClient;
  store: OpenStore;
  entry: StoredEntry;
  options: RequestOptions;
  /** Awaited before the last reading of a look-up. Returns false if the look-up must end. */
  pause(): Promise<boolean>;
}

/**
 * Looks up the lot of a receipt. A lot is the receipt's own if its remark or serial begins with the mark of the entry, whatever
 * its item is. The receipt is absent if no lot is its own, and each later lot of the item has the mark of another receipt of this
 * outbox. Any other later lot of the item may be its own: the service may have cut the remark, or a person may have changed it.
 */
export async function lookUpReceipt({ client, store, entry, options, pause }: OutcomeLookUp): Promise<LookUpResult> {
  const receipt = await lookedUpReceipt(store, entry);
  const { outcome, lots, reason } = await client.inventory.receiptLookup.look(receipt, {
    options,
    pause,
    concludes: true,
  });
  const recNos = lots.map(({ recNo }) => recNo).sort((one, next) => one - next);
  if (outcome === "applied") return { outcome, result: { recNo: recNos[0] } };
  if (outcome === "absent") return { outcome, reason: "no lot can be its own" };
  return { outcome: "unclear", reason, lots: recNos };
}

/**
 * Returns the rules by which lots are compared with an entry. Without a mark, every later lot of the item may be its
 * own.
 */
async function lookedUpReceipt(store: OpenStore, entry: StoredEntry): Promise<LookedUpReceipt> {
  const input = inputOf(entry);
  const mark = markOf(store.id, entry.key);
  const isMarked = hasMark(input, mark);
  const marks = await marksOfOthers(store, entry);
  const texts = receiptTexts(input);
  return {
    itemID: skuOfInput(input),
    wid: Number(fieldOf(input, "wid")),
    lastRecNo: entry.lastRecNo ?? undefined,
    seen: new Map(),
    isOwn: (lot) => isMarked && hasMark(lot, mark),
    showsOwn: (lot, isOfItem) => (isMarked ? showsMark(lot, mark) : isOfItem && texts.areShownBy(lot)),
    // The input itself may have the mark of another receipt: anybody can copy the remark of a lot.
    isOthers: (lot) => marks.some((other) => hasMark(lot, other) && !hasMark(input, other)),
    mayBeOwn: () => true,
    mayBeOwnOfOtherItem: (lot) => !isMarked && texts.equal(lot),
  };
}

/** Returns the marks of the other receipts of the item, pruned receipts included: a mark needs only the key. */
async function marksOfOthers(store: OpenStore, { key, lane }: StoredEntry): Promise<string[]> {
  const marks: string[] = [];
  for await (const other of store.list({ lane, pruned: true }))
    if (other.operation === "receive" && other.key !== key) marks.push(markOf(store.id, other.key));
  return marks;
}

const STATUS = { create: "created", update: "updated", discontinue: "discontinued" } as const;

type ItemLookUp = Pick<OutcomeLookUp, "client" | "entry" | "options">;

/** Reads the item of a write. If the item is as this write wants it, the write counts as applied, no matter who wrote the item. */
export async function lookUpItem(search: ItemLookUp): Promise<LookUpResult> {
  const item = await readEntryItem(search);
  return item ? compareItem(search.entry, item) : { outcome: "absent", reason: "the item does not exist" };
}

/**
 * Decides about a write that was refused although an earlier attempt may have been applied. The refusal says nothing about the
 * earlier attempt. The earlier attempt was applied if the item is as it was sent. For a create, the item must also have
 * been created after the attempt.
 */
export async function lookUpAfterRefusal(search: ItemLookUp): Promise<LookUpResult> {
  const { entry } = search;
  const item = (await readEntryItem(search)) ?? (await findListedItem(search));
  if (!item) return { outcome: "unclear", reason: "the item does not exist" };
  const found = compareItem(entry, item);
  const { sentAt, clockAheadMs } = entry;
  const sent = sentAt === null || clockAheadMs === null ? undefined : sentAt + clockAheadMs;
  if (found.outcome !== "applied" || entry.operation !== "create" || wasWrittenAfter(item.created, sent)) return found;
  return { outcome: "unclear", reason: "the item is as it was sent, but may have been created before" };
}

const readEntryItem = ({ client, entry, options }: ItemLookUp): Promise<Item | undefined> =>
  client.items.get(skuOfInput(inputOf(entry)), options).catch(undefinedIf(isNoSuchItem));

/** The most pages of a list that are read for one item. */
const MAX_ITEM_PAGES = 100;

/** Searches the list, since a service may return only active items by their SKUs. */
async function findListedItem({ client, entry, options }: ItemLookUp): Promise<Item | undefined> {
  const wanted = comparableSku(skuOfInput(inputOf(entry)));
  const list = client.items.list({ includeDiscontinued: true }, { ...options, gapless: true, readAhead: 0 });
  let pages = 0;
  for await (const { value } of list.pages()) {
    const item = value.find(({ shortID }) => comparableSku(shortID) === wanted);
    pages += 1;
    if (item || pages === MAX_ITEM_PAGES) return item;
  }
  return undefined;
}

/** Compares an item with what was sent: it must show every field that was sent, with an equal value. */
function compareItem(entry: StoredEntry, item: Item): LookUpResult {
  const { operation } = entry;
  if (operation !== "create" && operation !== "update" && operation !== "discontinue") throw new TypeError(operation);
  const { shortID, ...fields }: Record<string, unknown> = { ...inputOf(entry) };
  const wanted = operation === "discontinue" ? { discontinued: true } : fields;
  const isShown = (name: string) => Object.hasOwn(item, name);
  const isAsSent =
    comparableSku(String(shortID)) === comparableSku(item.shortID) &&
    Object.entries(wanted).every(([name, value]) => isShown(name) && isSameValue(value, fieldOf(item, name)));
  if (isAsSent) return { outcome: "applied", result: { shortID: item.shortID, status: STATUS[operation], item } };
  const hidden = Object.keys(wanted).filter((name) => !isShown(name));
  const reason =
    hidden.length > 0 ? `the service does not show ${hidden.join(", ")}` : "the item differs from what was sent";
  return { outcome: "unclear", reason };
}
