import { createHash } from "node:crypto";
import type { NewOutboxEntry, OutboxEntry } from "../../outbox/entry.js";
import { MAX_KEY_LENGTH } from "../../outbox/new-entries.js";
import { createOutbox } from "../../outbox/outbox.js";
import { memoryStore } from "../../outbox/stores/memory-store.js";
import { serviceTimeMs } from "../../service/date.js";
import type { Item } from "../../service/item.js";
import type { PlanApplyOptions, PlanReport } from "../apply/options.js";
import {
  type ChangeAsRead,
  type ChangeState,
  KEY_PREFIXES,
  PlanApplication,
  type PlannedChanges,
  type ReadBack,
} from "../apply/plan-application.js";
import type { Progress } from "../apply/progress.js";
import { PlanReader } from "../plan-reader.js";
import { readItem, readItems, readModifiedItems } from "../read-items.js";
import { fieldValue, isSameValue, type StoredForm } from "./compare.js";
import type { ItemChange, ItemPlanContent } from "./document.js";

/** How far `modified` may be behind the `Date` header. */
const MAX_CLOCK_LAG_MS = 120_000;
/** `Date` headers are in seconds, and a response takes its time. */
const CLOCK_TOLERANCE_MS = 3_000;
/** Fewer items are read singly, since the list of modified items takes two requests. */
const MIN_FOR_LIST = 3;

/** Applies a plan of items: through the outbox, or directly, with an outbox in memory. */
export async function applyItemPlan(content: ItemPlanContent, options: PlanApplyOptions): Promise<PlanReport> {
  const { client, outbox, signal } = options;
  const used = outbox ?? createOutbox({ client, store: memoryStore() });
  try {
    const planned = new PlannedItems(content, new PlanReader(client, signal));
    return await new PlanApplication(planned, used, options).apply();
  } finally {
    if (!outbox) await used.close();
  }
}

class PlannedItems implements PlannedChanges<ItemChange, { shortID: string }, StoredForm> {
  readonly reader: PlanReader;
  readonly keyPrefix: string;
  readonly changes: readonly ItemChange[];
  readonly maxChunkSize = 5_000;
  /** Its write: a large chunk is read by the list. */
  readonly requestsPerChange = 1;
  /** How many items the service lists. */
  readonly #listed: number;
  /** Those that the plan has ignored: the next plan needs them, too. */
  readonly #ignoredForms: readonly StoredForm[];

  constructor({ id, changes, items, storedForms }: ItemPlanContent, reader: PlanReader) {
    this.keyPrefix = `${KEY_PREFIXES.items}${id}/`;
    this.changes = changes;
    this.reader = reader;
    this.#listed = items;
    this.#ignoredForms = storedForms;
  }

  nameOf({ shortID }: ItemChange): { shortID: string } {
    return { shortID };
  }

  writesOf({ operation, shortID, fields }: ItemChange): NewOutboxEntry[] {
    const key = this.#keyOf(shortID);
    const changes = Object.fromEntries(Object.entries(fields).map(([name, { after }]) => [name, after]));
    return operation === "discontinue"
      ? [{ key, operation, input: { shortID } }]
      : [{ key, operation, input: { ...changes, shortID } }];
  }

  #keyOf(shortID: string): string {
    const key = `${this.keyPrefix}${shortID}`;
    if (key.length <= MAX_KEY_LENGTH) return key;
    return `${this.keyPrefix}sha256-${createHash("sha256").update(shortID).digest("hex")}`;
  }

  async readStates(changes: readonly Progress<ItemChange>[]): Promise<ChangeAsRead<ItemChange>[]> {
    const skus = changes.map(({ change }) => change.shortID);
    const items = await readItems(this.reader, skus, this.#listed);
    return changes.map((progress) => {
      const { change } = progress;
      return { progress, state: stateOfChange(change, items.get(change.shortID)) };
    });
  }

  replaces({ key }: OutboxEntry): boolean {
    return key.startsWith(KEY_PREFIXES.items);
  }

  /** The service may have applied it anyway, or another process has. */
  async isAsDesired(change: ItemChange): Promise<boolean> {
    return stateOfChange(change, await readItem(this.reader, change.shortID)).kind === "as-desired";
  }

  /** Finds the values that the service keeps in another form, and written items that are lost. */
  async readBack(written: ReadonlyMap<ItemChange, number>): Promise<ReadBack<ItemChange, StoredForm>> {
    const storedDifferently = [...this.#ignoredForms];
    const unknown = new Map<ItemChange, string>();
    // What cannot be read is as the service has confirmed it. The next plan finds stored forms that this report lacks.
    await this.reader.failureOf(async () => {
      const items = await this.#readWritten([...written.keys()].map(({ shortID }) => shortID));
      for (const [change, appliedAt] of written) {
        const item = items.get(change.shortID) ?? (await readItem(this.reader, change.shortID));
        if (!item) unknown.set(change, "it was applied, but is missing");
        else if (change.operation === "discontinue" && !item.discontinued) {
          unknown.set(change, "it was applied, but is not discontinued");
        } else if (!isModifiedAfter(item, appliedAt, this.reader))
          storedDifferently.push(...storedFormsOf(change, item));
      }
    });
    return { unknown, storedDifferently };
  }

  /** By SKU; those that are missing must be read singly. */
  async #readWritten(skus: readonly string[]): Promise<Map<string, Item>> {
    const { firstDate } = this.reader;
    if (firstDate === undefined || skus.length < MIN_FOR_LIST) return new Map();
    return await readModifiedItems(this.reader, skus, firstDate - MAX_CLOCK_LAG_MS);
  }
}

/** Whether somebody has changed the item since: then its values are not those that were sent. */
function isModifiedAfter({ modified }: Item, time: number, { clockAheadMs }: PlanReader): boolean {
  const modifiedAt = serviceTimeMs(modified);
  if (modifiedAt === undefined || clockAheadMs === undefined) return false;
  return modifiedAt - clockAheadMs > time + CLOCK_TOLERANCE_MS;
}

function storedFormsOf({ shortID, operation, fields }: ItemChange, item: Item): StoredForm[] {
  if (operation === "discontinue") return [];
  return Object.entries(fields).flatMap(([field, { after: sent }]) => {
    const stored = fieldValue(item, field);
    return isSameValue(sent, stored) ? [] : [{ shortID, field, sent, stored }];
  });
}

/** How an item is now, compared with a change of a plan. */
function stateOfChange({ operation, fields }: ItemChange, item: Item | undefined): ChangeState {
  const names = Object.keys(fields);
  const differing = (side: "before" | "after") =>
    names.filter((name) => !isSameValue(fields[name]?.[side], item && fieldValue(item, name)));
  if (operation === "create") {
    if (!item) return { kind: "due" };
    const others = differing("after");
    return others.length === 0 && !item.discontinued
      ? { kind: "as-desired" }
      : {
          kind: "stale",
          reason: `it was created meanwhile, with another ${others.join(", ") || "state: discontinued"}`,
        };
  }
  if (!item) return { kind: "stale", reason: "it no longer exists" };
  if (operation === "discontinue" && item.discontinued) return { kind: "as-desired" };
  if (operation === "update" && differing("after").length === 0) return { kind: "as-desired" };
  if (operation === "update" && item.discontinued) return { kind: "stale", reason: "it was discontinued meanwhile" };
  const changed = differing("before");
  return changed.length === 0 ? { kind: "due" } : { kind: "stale", reason: `changed meanwhile: ${changed.join(", ")}` };
}
