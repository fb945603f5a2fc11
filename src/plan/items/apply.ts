import { BulkRequests, type ReadWith } from "../../bulk/requests.js";
import { isListCheaper, requestsForItems, requestsForList } from "../../client/for-add-ons.js";
import { ConnectionError, type Item } from "../../client/index.js";
import { serviceTimeMs } from "../../service/date.js";
import { isSameValue } from "../../service/same-value.js";
import type { StockLevel } from "../../service/stock-level.js";
import { StocklotError } from "../../shared/errors/index.js";
import { callSafely } from "../../shared/time/callback.js";
import { monotonicNowMs } from "../../shared/time/clock.js";
import { castUnchecked } from "../../shared/unknown.js";
import { FailuresInARow } from "../../writes/failures-in-a-row.js";
import { methodOf } from "../../writes/operation.js";
import { concernsAllWrites } from "../../writes/refusal.js";
import { readItem, readItems, readModifiedItems } from "../read-items.js";
import { MAX_AGE_MS, type PlanApplyOptions, SlowItems, TOO_SLOW } from "../report.js";
import { describeQuantities, readStockLevels } from "../stock-levels.js";
import { fieldValue, type StoredForm } from "./compare.js";
import type { ItemChange, ItemPlanContent, ReportedItem } from "./document.js";

/*
 * A plan of items needs no outbox: reading an item shows whether its write was applied.
 *
 *   the item now                      what happens
 *   as desired                        counts as applied, no matter who wrote it
 *   as at the time of the plan        the write is sent. The service creates a SKU only once, and a second update or
 *                                     discontinuation changes nothing
 *   spelled otherwise                 stale. An item that the service returns for another SKU is never discontinued
 *   with stock (discontinue)          stale, unless the plan was made with `withStock`
 *   without a row (discontinue)       stale, unless every create of the plan was applied
 *   anything else                     stale
 *
 * When a write is sent, its reading is at most ten minutes old. After two readings that were older, the item is stale.
 * Five such items in a row end the call.
 *
 *   the write                         then
 *   succeeds                          applied
 *   fails, the item is as desired     applied
 *   fails, refused                    rejected
 *   fails, may have been applied      unknown: apply the plan again
 *
 * After a crash, the plan is applied again. The items that were written are as desired by then. If the service keeps a
 * value in another form, the item is stale, and the next plan compares it again. If a field still has its old value,
 * the write is lost: the item is stale, too.
 */

/** The result of `plan.apply` for an item plan. */
export interface ItemPlanReport {
  /** Items that were written, or that were as desired, no matter who wrote them. */
  applied: number;
  /** Requests sent, token requests excluded. */
  requests: number;
  /** Time taken, in ms. */
  durationMs: number;
  /** Items that have changed since the plan. They were not written. */
  stale: ReportedItem[];
  /** Items whose write the service refused, or whose write could not be sent. */
  rejected: ReportedItem[];
  /** Items whose write may or may not have been applied. Apply the plan again. */
  unknown: ReportedItem[];
  /** Values that the service keeps in another form. Pass them as `ignoreStoredForms`, or they are planned again. */
  storedDifferently: StoredForm[];
}

/** How many items are read together, then written. 90 requests per minute write them before the reading is too old. */
const CHUNK = 400;
const CONCURRENCY = 4;
/** How far `modified` may be behind the `Date` header, in ms. */
const MAX_CLOCK_LAG_MS = 120_000;
/** `Date` headers are in seconds, and a response takes its time. */
const CLOCK_TOLERANCE_MS = 3_000;
/** Fewer items than this are read one by one, because the list of modified items takes two requests. */
const MIN_FOR_LIST = 3;
const MAX_ITEM_ATTEMPTS = 2;
/** If this many writes in a row have no response, the service cannot be reached. */
const MAX_LOST = 5;

type ChangeState = "as-desired" | "due" | { stale: string };

/** Returns how many requests it takes to apply a plan, if nobody else changes anything. */
export function requestsForItemPlan({ changes, items, levelRequests, withStock }: ItemPlanContent): number {
  const readings = (["create", "update", "discontinue"] as const).map((operation) => {
    const count = changes.filter((change) => change.operation === operation).length;
    const [whole, rest] = [Math.floor(count / CHUNK), count % CHUNK];
    const levels = operation === "discontinue" && !withStock ? Math.ceil(count / CHUNK) * levelRequests : 0;
    return whole * requestsForItems(CHUNK, items) + requestsForItems(rest, items) + levels;
  });
  const count = changes.length;
  const readBack = count < MIN_FOR_LIST ? count : 1 + requestsForList(count);
  return readings.reduce((sum, requests) => sum + requests, count + Math.min(readBack, count));
}

interface ItemReading {
  /** When the first request got its slot, by the monotonic clock. */
  readAt: number;
  items: ReadonlyMap<string, Item>;
  /** The stock levels of items to discontinue, by part number. */
  levels: ReadonlyMap<number, StockLevel>;
}

const isTooOld = ({ readAt }: ItemReading) => monotonicNowMs() - readAt > MAX_AGE_MS;

class ReadingTooOld extends Error {}

export class ItemPlanApplication {
  readonly #content: ItemPlanContent;
  readonly #options: PlanApplyOptions;
  readonly #reader: BulkRequests;
  readonly #failures = new FailuresInARow();
  readonly #written = new Map<ItemChange, number>();
  /** Planned SKUs for which the service returns an item with another spelling, by the SKU of that item. */
  readonly #lookAlikes = new Map<string, string>();
  readonly #report: Omit<ItemPlanReport, "durationMs">;
  #done = 0;
  readonly #slowItems = new SlowItems();
  /** Writes in a row without a response. */
  #lost = 0;
  /** The SKU of the first create that was not applied. */
  #notCreated: string | undefined;

  constructor(content: ItemPlanContent, options: PlanApplyOptions) {
    this.#content = content;
    this.#options = options;
    const storedDifferently = [...content.storedForms];
    this.#report = { applied: 0, requests: 0, stale: [], rejected: [], unknown: [], storedDifferently };
    this.#reader = new BulkRequests({ ...options, counter: this.#report });
  }

  /** @throws an error that concerns all writes, such as a lost connection or a missing permission. */
  async apply(): Promise<ItemPlanReport> {
    const startedAt = monotonicNowMs();
    for (const operation of ["create", "update", "discontinue"] as const) {
      const changes = this.#content.changes.filter((change) => change.operation === operation);
      for (let start = 0; start < changes.length; start += CHUNK)
        await this.#applyChunk(changes.slice(start, start + CHUNK));
    }
    await this.#readBack();
    return { ...this.#report, durationMs: monotonicNowMs() - startedAt };
  }

  async #applyChunk(chunk: readonly ItemChange[]): Promise<void> {
    const reading = await this.#readChunk(chunk);
    const queue = [...chunk];
    const work = async () => {
      for (let change = queue.shift(); change; change = queue.shift()) {
        this.#options.signal?.throwIfAborted();
        await this.#apply(change, reading);
      }
    };
    // If one worker fails, the others stop: nothing more should be sent.
    const stop = (error: unknown) => {
      queue.length = 0;
      throw error;
    };
    const ends = await Promise.allSettled(Array.from({ length: CONCURRENCY }, () => work().catch(stop)));
    for (const end of ends) if (end.status === "rejected") throw end.reason;
  }

  /** Reads the items of many changes from a list. Reads nothing for few changes: each item is read before its write. */
  async #readChunk(chunk: readonly ItemChange[]): Promise<ItemReading | undefined> {
    const { items: listed, withStock } = this.#content;
    const skus = chunk.map(({ shortID }) => shortID);
    const isListed = isListCheaper(skus.length, listed);
    const needsLevels = !withStock && chunk.some((change) => change.operation === "discontinue");
    // The level of a single item is read with that item.
    if (!isListed && !(needsLevels && chunk.length > 1)) return undefined;
    return this.#timed(async (reader) => {
      const items = await readItems(reader, skus, listed);
      return { items, levels: needsLevels ? await this.#readLevels(reader, items) : new Map() };
    });
  }

  #readOne(change: ItemChange): Promise<ItemReading> {
    const needsLevels = change.operation === "discontinue" && !this.#content.withStock;
    return this.#timed(async (reader) => {
      const items = await readItems(reader, [change.shortID], Infinity);
      return { items, levels: needsLevels ? await this.#readLevels(reader, items) : new Map() };
    });
  }

  #readLevels(reader: ReadWith, items: ItemReading["items"]): Promise<ItemReading["levels"]> {
    const active = [...items.values()].filter((item) => !item.discontinued);
    return active.length === 0 ? Promise.resolve(new Map()) : readStockLevels(reader, active, {});
  }

  /** Reads, and notes when the first request gets its slot: the age of the reading counts from then. */
  async #timed(read: (reader: ReadWith) => Promise<Omit<ItemReading, "readAt">>): Promise<ItemReading> {
    let readAt: number | undefined;
    const beforeSend = () => {
      readAt ??= monotonicNowMs();
    };
    const found = await read(this.#reader.with({ beforeSend }));
    return { ...found, readAt: readAt ?? -Infinity };
  }

  async #apply(change: ItemChange, chunk: ItemReading | undefined): Promise<void> {
    const { operation, shortID } = change;
    const before = this.#report.applied;
    const isTooSlow = !(await this.#attempt(change, chunk));
    if (isTooSlow) this.#report.stale.push({ shortID, reason: TOO_SLOW });
    this.#slowItems.add(shortID, isTooSlow);
    if (operation === "create" && this.#report.applied === before) this.#notCreated ??= shortID;
    this.#done += 1;
    const progress = { done: this.#done, total: this.#content.changes.length };
    callSafely(() => this.#options.onProgress?.(progress));
  }

  /** Reads the item and writes it. Returns false if both attempts took too long. */
  async #attempt(change: ItemChange, chunk: ItemReading | undefined): Promise<boolean> {
    const { shortID } = change;
    for (let attempt = 1; attempt <= MAX_ITEM_ATTEMPTS; attempt += 1) {
      const reading = attempt === 1 && chunk && !isTooOld(chunk) ? chunk : await this.#readOne(change);
      if (isTooOld(reading)) continue;
      const state = this.#stateOf(change, reading);
      if (state === "as-desired") this.#report.applied += 1;
      else if (state !== "due") this.#report.stale.push({ shortID, reason: state.stale });
      // The write may have waited too long for its slot.
      else if (!(await this.#write(change, reading))) continue;
      return true;
    }
    return false;
  }

  /** Writes the item. Returns false if the reading became too old before anything was sent. */
  async #write(change: ItemChange, reading: ItemReading): Promise<boolean> {
    const { shortID } = change;
    let failure: StocklotError | undefined;
    try {
      await this.#send(change, reading);
      this.#failures.add(shortID, undefined);
      this.#lost = 0;
      this.#written.set(change, Date.now());
    } catch (error) {
      if (error instanceof ReadingTooOld) return false;
      if (!(error instanceof StocklotError) || (concernsAllWrites(error) && error.applied === "no")) throw error;
      if (this.#failures.add(shortID, error)) throw error;
      // With the option fetch, a lost connection does not prove that nothing was sent.
      this.#lost = error instanceof ConnectionError ? this.#lost + 1 : 0;
      if (this.#lost >= MAX_LOST) throw error;
      failure = error;
    }
    let isApplied = !failure || failure.applied === "yes";
    if (!isApplied)
      await this.#tryTo(async () => {
        const items = await readItems(this.#reader, [shortID], Infinity);
        isApplied = this.#stateOf(change, { items, levels: new Map() }) === "as-desired";
      });
    if (isApplied) this.#report.applied += 1;
    else if (failure?.applied === "no") this.#report.rejected.push({ shortID, reason: failure.message });
    else {
      const reason = `${failure?.message.replace(/\.$/, "")}. Apply the plan again`;
      this.#report.unknown.push({ shortID, reason });
    }
    return true;
  }

  #send({ operation, shortID, fields }: ItemChange, reading: ItemReading): Promise<unknown> {
    const { client, options } = this.#reader;
    const beforeSend = () => {
      if (isTooOld(reading)) throw new ReadingTooOld();
    };
    const changes = Object.fromEntries(Object.entries(fields).map(([name, { after }]) => [name, after]));
    const method = methodOf(client, operation, { ...options, beforeSend });
    return method(castUnchecked<never>({ ...changes, shortID }));
  }

  #stateOf(
    { operation, shortID, fields, isAbsent }: ItemChange,
    { items, levels }: Omit<ItemReading, "readAt">,
  ): ChangeState {
    const item = items.get(shortID);
    if (!item) return operation === "create" ? "due" : { stale: "it no longer exists" };
    if (item.shortID !== shortID) {
      this.#lookAlikes.set(item.shortID, shortID);
      return { stale: `the service takes "${item.shortID}" for it` };
    }
    const differing = (side: "before" | "after") =>
      Object.keys(fields).filter((name) => !isSameValue(fields[name]?.[side], fieldValue(item, name)));
    const isDone = differing("after").length === 0;
    if (operation === "create") {
      if (isDone && !item.discontinued) return "as-desired";
      const what = differing("after").join(", ") || "state: discontinued";
      return { stale: `it was created meanwhile, with another ${what}` };
    }
    if (operation === "discontinue" ? item.discontinued : isDone) return "as-desired";
    if (item.discontinued) return { stale: "it was discontinued meanwhile" };
    const changed = differing("before");
    if (changed.length > 0) return { stale: `changed meanwhile: ${changed.join(", ")}` };
    const planned = this.#lookAlikes.get(item.shortID);
    if (operation === "discontinue" && planned !== undefined)
      return { stale: `the service takes it for the planned item "${planned}"` };
    if (operation === "discontinue" && isAbsent && this.#notCreated !== undefined)
      return { stale: `"${this.#notCreated}" was not created, and may be the replacement of this item` };
    const quantities = describeQuantities(levels.get(item.partNo));
    return quantities === "" ? "due" : { stale: `it has stock or open quantities: ${quantities}` };
  }

  /** Calls `read`, and ignores its errors: the report is complete without its result. */
  async #tryTo(read: () => Promise<void>): Promise<void> {
    try {
      await read();
    } catch (error) {
      this.#options.signal?.throwIfAborted();
      if (!(error instanceof StocklotError)) throw error;
    }
  }

  /** Reads the written items again. Finds values that the service keeps in another form, and writes that are lost. */
  async #readBack(): Promise<void> {
    const report = this.#report;
    // If items cannot be read, the confirmation of the service counts. The next plan finds the stored forms.
    await this.#tryTo(async () => {
      const items = await this.#readWritten([...this.#written.keys()].map(({ shortID }) => shortID));
      for (const [change, writtenAt] of this.#written) {
        const { shortID, operation } = change;
        const item = items.get(shortID) ?? (await readItem(this.#reader, shortID));
        if (!item || (operation === "discontinue" && !item.discontinued)) {
          report.applied -= 1;
          report.unknown.push({ shortID, reason: "the service has confirmed it, but does not show it" });
        } else if (operation !== "discontinue" && !isModifiedAfter(item, writtenAt, this.#reader)) {
          const { forms, unchanged } = compareStored(change, item);
          if (unchanged.length === 0) report.storedDifferently.push(...forms);
          else {
            report.applied -= 1;
            const names = unchanged.join(", ");
            report.stale.push({ shortID, reason: `the service has confirmed it, but still shows the old ${names}` });
          }
        }
      }
    });
  }

  /** Returns items by SKU. Items that are missing must be read one by one. */
  async #readWritten(skus: readonly string[]): Promise<Map<string, Item>> {
    const { serviceTimeAtStart } = this.#reader;
    if (serviceTimeAtStart === undefined || skus.length < MIN_FOR_LIST) return new Map();
    return readModifiedItems(this.#reader, skus, serviceTimeAtStart - MAX_CLOCK_LAG_MS);
  }
}

/** Compares an item with the values that were sent. `unchanged`: fields of an update that still have the old value. */
function compareStored(
  { operation, shortID, fields }: ItemChange,
  item: Item,
): { forms: StoredForm[]; unchanged: string[] } {
  const forms: StoredForm[] = [];
  const unchanged: string[] = [];
  for (const [field, { before, after: sent }] of Object.entries(fields)) {
    const stored = fieldValue(item, field);
    if (isSameValue(sent, stored)) continue;
    if (operation === "update" && isSameValue(before, stored)) unchanged.push(field);
    else forms.push({ shortID, field, sent, stored });
  }
  return { forms, unchanged };
}

/** Whether the item was changed again after its write. Then its values need not be the values that were sent. */
function isModifiedAfter({ modified }: Item, time: number, { clockAheadMs }: BulkRequests): boolean {
  const modifiedAt = serviceTimeMs(modified);
  if (modifiedAt === undefined || clockAheadMs === undefined) return false;
  return modifiedAt - clockAheadMs > time + CLOCK_TOLERANCE_MS;
}
