import * as z from "zod";
import { BulkRequests } from "../../bulk/requests.js";
import { requestsForItems } from "../../client/for-add-ons.js";
import type { InventoryClient } from "../../client/index.js";
import type { Item } from "../../service/item.js";
import { itemChangesSchema } from "../../service/item-input.js";
import { comparableSku } from "../../service/key.js";
import { InputValidationError, type Issue, UnexpectedRemovalsError } from "../../shared/errors/index.js";
import { functionSchemaOf } from "../../shared/option.js";
import { checkMethodOptions, lazy, string } from "../../shared/schema.js";
import { nearestNameHint } from "../../shared/unknown-name.js";
import { newPlanHead } from "../document.js";
import { commonOptions, type ReadProgress, recordsWithProgress } from "../reader.js";
import { describeQuantities, readStockLevels } from "../stock-levels.js";
import { Comparison, type StoredForm, storedFormSchema } from "./compare.js";
import { type DesiredItem, type DesiredItems, readDesiredItems } from "./desired.js";
import { discontinueChange, ItemDifference } from "./difference.js";
import { ItemPlan } from "./item-plan.js";

/** Options of {@link planItems}. */
export interface PlanItemsOptions {
  /** The client that reads the catalog. */
  client: InventoryClient;
  /**
   * How the items should be, each item once. `created`, `createdBy` and `modified` are ignored: the service sets them.
   * `partNo` is not written either, but must be the part number of the item.
   */
  desired: Iterable<DesiredItem> | AsyncIterable<DesiredItem>;
  /**
   * The fields that are compared and changed. A create sends every field of its row anyway.
   * @default the fields that occur in any row
   */
  fields?: readonly string[] | undefined;
  /**
   * Whether active items of the service that are not in `desired` are kept or discontinued.
   * @default "keep"
   */
  absent?: "keep" | "discontinue" | undefined;
  /**
   * Only items for which this function returns true may be discontinued. Required with `absent: "discontinue"`.
   * @default every item counts for `maxDiscontinuedShare`
   */
  owns?: ((item: Item) => boolean) | undefined;
  /**
   * The largest share of the owned active items that may be discontinued, from 0 to 1. It is an
   * `UnexpectedRemovalsError` to discontinue more than this share and more than 10 items, or all of several: the source
   * is probably incomplete.
   * @default 0.05
   */
  maxDiscontinuedShare?: number | undefined;
  /**
   * Whether items with stock or open quantities, in a warehouse that the client may read, are discontinued. By default,
   * they are blocked.
   * @default false
   */
  withStock?: boolean | undefined;
  /**
   * The `storedDifferently` of an earlier report. These pairs of values count as equal.
   * @default none
   */
  ignoreStoredForms?: readonly StoredForm[] | undefined;
  /**
   * Ends the planning, which rejects with the signal's reason.
   * @default none
   */
  signal?: AbortSignal | null | undefined;
  /**
   * Called after each page of the catalog. An error is logged and has no other effect.
   * @default none
   */
  onProgress?: ((progress: ReadProgress) => void) | undefined;
}

const planItemsOptionsSchema = lazy(() =>
  z.strictObject({
    ...commonOptions(),
    // The object itself is read later: a copy would lack the iterator.
    desired: z.unknown(),
    fields: z.array(string()).optional(),
    absent: z.enum(["keep", "discontinue"]).optional(),
    owns: functionSchemaOf<(item: Item) => boolean>().optional(),
    maxDiscontinuedShare: z.number().min(0).max(1).optional(),
    withStock: z.boolean().optional(),
    ignoreStoredForms: z.array(storedFormSchema()).optional(),
  }),
);

/** Up to this number of items may always be discontinued, unless they are all owned items. */
const MIN_UNEXPECTED = 10;
const DEFAULT_MAX_DISCONTINUED_SHARE = 0.05;

/**
 * Compares the catalog of the service with the desired catalog, and returns the writes that make them equal. It reads
 * the catalog once (with `gapless`, including discontinued items), and sends no write.
 *
 * Source: `GET /Item/All`; `GET /Inventory/StockLevels` if items are to be discontinued.
 *
 * @experimental
 * @example
 * import { planItems } from "stocklot/plan";
 *
 * const plan = await planItems({
 *   client,
 *   desired: [{ shortID: "BOLT-M8", description: "Hex bolt M8, zinc plated" }],
 * });
 * console.log(plan.toText());
 * const report = await plan.apply({ client });
 * console.log(report.applied);
 * @throws InputValidationError that lists every wrong row: two rows with one SKU, a SKU with surrounding or invisible
 * spaces, a field that no item has, a `partNo` of another item. Also if there is no row, or if an option is wrong.
 * @throws UnexpectedRemovalsError if too many items would be discontinued, see `maxDiscontinuedShare`.
 * @throws what the client throws if the catalog cannot be read.
 */
export async function planItems(options: PlanItemsOptions): Promise<ItemPlan> {
  const given = checkMethodOptions("planItems", planItemsOptionsSchema, options);
  const { client, desired, fields, absent = "keep", owns, withStock = false, signal, onProgress } = given;
  const { ignoreStoredForms = [], maxDiscontinuedShare = DEFAULT_MAX_DISCONTINUED_SHARE } = given;
  if (absent === "discontinue" && !owns) {
    const message = 'is required with absent: "discontinue": it says which items may be discontinued';
    throw new InputValidationError("planItems", [{ path: ["owns"], message }]);
  }
  signal?.throwIfAborted();
  const source = await readDesiredItems(desired, signal);
  const plannedAt = new Date();
  const comparison = new Comparison(ignoreStoredForms);
  const difference = new ItemDifference({
    rows: source.rows,
    fields: new Set(fields ?? source.fields),
    comparison,
    isDropped: (item) => absent === "discontinue" && owns?.(item) === true,
    isOwned: (item) => !owns || owns(item) === true,
  });
  const catalog = client.items.list({ includeDiscontinued: true }, { gapless: true, signal });
  for await (const item of recordsWithProgress(catalog, onProgress)) difference.addItem(item);
  assertFieldsExist(source, fields, difference.fieldNames);
  assertPartNumbers(source, difference.skuOfPartNo);
  difference.finish();
  const { changes, blocked, discontinued, unchanged, items } = difference;
  const reader = new BulkRequests({ client, signal });
  const levels = await readStockLevels(reader, withStock ? [] : discontinued, {});
  const itemRequests = requestsForItems(discontinued.length, items);
  const { requests } = reader.counter;
  // If the client remembered items, fewer requests were sent than the items take. How many items these were is not known,
  // so all requests count.
  const levelRequests = requests > itemRequests ? requests - itemRequests : requests;
  const allowed = discontinued.filter(({ shortID, partNo }) => {
    const quantities = describeQuantities(levels.get(partNo));
    if (quantities !== "") blocked.push({ shortID, reason: `it has stock or open quantities: ${quantities}` });
    return quantities === "";
  });
  assertDiscontinuedShare(allowed.length, difference.owned, maxDiscontinuedShare);
  // Creates come first: they show which items the service returns for a planned SKU. These are not discontinued.
  changes.sort((one, other) => Number(other.operation === "create") - Number(one.operation === "create"));
  for (const item of allowed) changes.push(discontinueChange(item, difference.absent.has(item)));
  const count = (name: string) => changes.reduce((sum, { operation }) => sum + Number(operation === name), 0);
  const counts = {
    create: count("create"),
    update: count("update"),
    discontinue: allowed.length,
    unchanged,
    blocked: blocked.length,
  };
  const head = newPlanHead("items", client, plannedAt);
  const { storedForms } = comparison;
  return new ItemPlan({ ...head, items, levelRequests, withStock, counts, changes, blocked, storedForms }, client);
}

/** Refuses fields that no item has. The document does not say whether the service drops or refuses such fields. */
function assertFieldsExist(
  { rows, fields: given }: DesiredItems,
  compared: readonly string[] = [],
  ofItems: ReadonlySet<string>,
): void {
  const documented = Object.keys(itemChangesSchema().shape);
  const missing = (name: string) => !documented.includes(name) && !ofItems.has(name);
  const describe = (name: string) => `is a field that no item has${nearestNameHint(name, documented)}`;
  const issues: Issue[] = compared.flatMap((name, index) =>
    missing(name) ? [{ path: ["fields", index], message: `"${name}" ${describe(name)}` }] : [],
  );
  const unknown = [...given].filter(missing);
  for (const { index, fields } of unknown.length > 0 ? rows.values() : []) {
    for (const name of unknown)
      if (Object.hasOwn(fields, name)) issues.push({ path: [index, name], message: describe(name) });
  }
  if (issues.length > 0) throw new InputValidationError("planItems", issues);
}

/**
 * Checks the part numbers of rows. If a row has the part number of another item, or of no item, a spreadsheet has
 * changed its SKU since the export. An item that was created by mistake could be neither renamed nor deleted.
 */
function assertPartNumbers({ rows }: DesiredItems, skuOfPartNo: ReadonlyMap<number, string>): void {
  const given = [...rows.values()].filter(({ partNo }) => partNo !== undefined);
  const skus = new Set(skuOfPartNo.values());
  const wrong = given.flatMap(({ index, shortID, partNo }): Issue[] => {
    const sku = skuOfPartNo.get(partNumberOf(partNo));
    // There may be two items whose SKUs differ only in their spelling.
    const isOther = sku !== shortID && skus.has(shortID);
    if (sku !== undefined && comparableSku(sku) === comparableSku(shortID) && !isOther) return [];
    const owner = sku === undefined ? "belongs to no item" : `belongs to the item "${sku}"`;
    const message = `${JSON.stringify(partNo)} ${owner}, not to "${shortID}": has a spreadsheet changed the SKU?`;
    return [{ path: [index, "partNo"], message }];
  });
  const [first] = wrong;
  if (!first) return;
  if (wrong.length < 2 || wrong.length < given.length) throw new InputValidationError("planItems", wrong);
  const [row] = first.path;
  const message = `in all ${wrong.length} rows, partNo is not the part number of the item (row ${String(row)}: ${first.message}). If the column has no part numbers of this service, leave it out`;
  throw new InputValidationError("planItems", [{ path: ["desired"], message }]);
}

/** Reads a part number as an export or a spreadsheet writes it; NaN if it is no part number. */
function partNumberOf(given: unknown): number {
  if (typeof given === "number") return given;
  return typeof given === "string" && /^\s*\d+(\.0+)?\s*$/.test(given) ? Number(given) : Number.NaN;
}

function assertDiscontinuedShare(removals: number, records: number, maxShare: number): void {
  const isTooMany = removals > MIN_UNEXPECTED && removals > maxShare * records;
  const isAll = removals > 1 && removals === records;
  if (!isTooMany && !(isAll && maxShare < 1)) return;
  throw new UnexpectedRemovalsError({
    resource: "items",
    removals,
    records,
    message: `planItems: ${removals} of the ${records} active items would be discontinued. Nothing was planned. Check whether the source is complete. If it is, increase maxDiscontinuedShare (${maxShare}).`,
  });
}
