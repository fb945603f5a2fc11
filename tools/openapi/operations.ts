import { type Operation, READS, WRITES } from "../../src/service/operations.js";
import { errorResponse } from "./errors.js";
import type { EXAMPLES } from "./examples.js";
import { type JsonObject, jsonContent, ref } from "./json.js";
import { inPath, itemForms, pageHeaders, paging } from "./parameters.js";

/** The description of an operation. The table of operations contains the rest. */
export interface Description {
  readonly operation: Operation;
  /** The name of the operation in tools. */
  readonly operationId: string;
  readonly tag: "Items" | "Inventory";
  readonly summary: string;
  readonly description?: string;
  readonly parameters?: readonly JsonObject[];
  readonly body?: JsonObject;
  /** The responses of successes, and of the errors that not every operation has. */
  readonly responses: JsonObject;
  /** Whether a warehouse can be out of scope. */
  readonly scoped?: true;
}

/** At least one example: a description without any does not compile. */
type Examples = readonly [keyof typeof EXAMPLES, ...(keyof typeof EXAMPLES)[]];

const body = (schema: string, ...examples: Examples): JsonObject => ({
  required: true,
  content: jsonContent(ref(`schemas/${schema}`), examples),
});

const ok = (description: string, schema: string, ...examples: Examples): JsonObject => ({
  description,
  content: jsonContent(ref(`schemas/${schema}`), examples),
});

const paged = (...args: Parameters<typeof ok>): JsonObject => ({ ...ok(...args), headers: pageHeaders });

/** Returns a success whose status and body the service's document does not define. */
const open = (description: string): JsonObject => ({
  description: `${description} The form of the body is not shown, nor whether the status is 200 or 201.`,
  content: { "application/json": { schema: { description: "Not shown." } } },
});

const itemInPath = (description: string, type: "integer" | "string") => [inPath("item", description, type)];
const warehouse = inPath("wid", "Warehouse ID. It must be in the client's scope.", "integer");
const NOT_FOUND = ref("responses/NotFound");

export const DESCRIPTIONS: readonly Description[] = [
  {
    operation: READS.readItems,
    operationId: "readItems",
    tag: "Items",
    summary: "Active items, the items of a category, or one item",
    description: [
      "Three forms, distinguished by their parameters, which OpenAPI cannot express; what happens when they are mixed is not shown:",
      "- without `key`, `type` and `Category`: a page of the active (non-discontinued) items, sorted by ShortID by default, with the paging headers;",
      "- `key` together with `type`: the one item with that ShortID or alias, or 404;",
      "- `Category`: a flat array of the items in the category, not paged.",
    ].join("\n"),
    parameters: [...itemForms, ...paging],
    responses: {
      200: {
        description: "A page of items; one item with `key` and `type`; an array of items with `Category`.",
        headers: pageHeaders,
        content: jsonContent(
          { oneOf: [ref("schemas/ItemPage"), ref("schemas/Item"), { type: "array", items: ref("schemas/Item") }] },
          ["itemPage", "item", "items"] satisfies Examples,
        ),
      },
      404: NOT_FOUND,
    },
  },
  {
    operation: READS.listAllItems,
    operationId: "listAllItems",
    tag: "Items",
    summary: "All items, discontinued ones included",
    parameters: paging,
    responses: { 200: paged("A page of items, sorted by ShortID by default.", "ItemPage", "itemPage") },
  },
  {
    operation: READS.getItemByPartNo,
    operationId: "getItemByPartNo",
    tag: "Items",
    summary: "One item by its part number",
    parameters: itemInPath("Part number that the service assigned (`{partNo}` in its document).", "integer"),
    responses: { 200: ok("The item, without an envelope.", "Item", "item"), 404: NOT_FOUND },
  },
  {
    operation: WRITES.create,
    operationId: "createItem",
    tag: "Items",
    summary: "Create an item",
    description:
      "The new item is active. Two forms of the response are documented. A ShortID that exists is a 400 in the service's description of the endpoint and a 409 in its table of errors: be ready for both.",
    body: body("CreateItem", "newItem"),
    responses: {
      201: {
        description:
          "Created: the response names the item, or is the whole item. The status is shown for the whole item only; 201 is the service's rule for a created resource.",
        content: jsonContent({ oneOf: [ref("schemas/CreatedReference"), ref("schemas/CreatedItem")] }, [
          "createdReference",
          "createdItem",
        ] satisfies Examples),
      },
      400: errorResponse(
        "ShortID is missing, an item with it exists, or a field failed validation.",
        "malformed",
        "invalid",
        "duplicateAsBadRequest",
      ),
      409: errorResponse("An item with that ShortID exists.", "duplicateAsConflict"),
    },
  },
  {
    operation: WRITES.update,
    operationId: "updateItem",
    tag: "Items",
    summary: "Update an item",
    description: "Whether an update can undo `discontinued` is not shown.",
    body: body("UpdateItem", "changes"),
    responses: { 200: ok("Updated.", "UpdatedReference", "updatedReference"), 404: NOT_FOUND },
  },
  {
    operation: WRITES.discontinue,
    operationId: "discontinueItem",
    tag: "Items",
    summary: "Discontinue an item",
    description:
      "A soft delete: the item and its inventory records remain. It is left out of `GET /Item` and still listed by `GET /Item/All`.",
    parameters: itemInPath("ShortID (SKU) of the item (`{shortID}` in the service's document).", "string"),
    responses: {
      200: ok("Discontinued.", "DiscontinuedReference", "discontinuedReference"),
      404: NOT_FOUND,
    },
  },
  {
    operation: READS.listLots,
    operationId: "listLots",
    tag: "Inventory",
    summary: "All lots",
    description: "Most recent first. That lots of warehouses outside the client's scope are left out is not shown.",
    parameters: paging,
    responses: { 200: paged("A page of lots.", "LotPage", "lotPage") },
  },
  {
    operation: READS.listLotsOfWarehouse,
    operationId: "listLotsOfWarehouse",
    tag: "Inventory",
    summary: "The lots of one warehouse",
    description: "Most recent first.",
    parameters: [warehouse, ...paging],
    responses: { 200: paged("A page of lots.", "LotPage", "lotPage") },
    scoped: true,
  },
  {
    operation: READS.listStockLevels,
    operationId: "listStockLevels",
    tag: "Inventory",
    summary: "Aggregate stock levels, all warehouses",
    description: "One record for each item.",
    parameters: paging,
    responses: { 200: paged("A page of stock levels.", "StockLevelPage", "stockLevelPage") },
  },
  {
    operation: READS.listStockLevelsOfWarehouse,
    operationId: "listStockLevelsOfWarehouse",
    tag: "Inventory",
    summary: "Aggregate stock levels, one warehouse",
    description: "One record for each item; only this warehouse counts.",
    parameters: [warehouse, ...paging],
    responses: { 200: paged("A page of stock levels.", "StockLevelPage", "stockLevelPage") },
    scoped: true,
  },
  {
    operation: WRITES.receive,
    operationId: "receiveStock",
    tag: "Inventory",
    summary: "Receive stock (positive adjustment)",
    description: "Which values `reasonCode` may have is not shown. A receipt that is sent twice is received twice.",
    body: body("Receive", "receipt"),
    responses: { "2XX": open("Received. The response contains the new record number.") },
    scoped: true,
  },
  {
    operation: WRITES.move,
    operationId: "moveStock",
    tag: "Inventory",
    summary: "Move stock",
    description:
      "Within a warehouse with `fromSpot` and `toSpot`; to another warehouse with `shipToWid` and, if wanted, `transitSlip`. Then both `wid` and `shipToWid` must be in scope.",
    body: body("Move", "moveWithin", "moveBetween"),
    responses: { "2XX": open("Moved. The response is the result of the move.") },
    scoped: true,
  },
  {
    operation: WRITES.issue,
    operationId: "issueStock",
    tag: "Inventory",
    summary: "Issue stock (negative adjustment)",
    description: "Which values `reasonCode` may have is not shown. An issue that is sent twice is issued twice.",
    body: body("Issue", "issue"),
    responses: { "2XX": open("Issued. The response is the result of the issue.") },
    scoped: true,
  },
];

/** `POST /Token`, the one operation that needs no token. */
export const TOKEN_OPERATION: JsonObject = {
  operationId: "requestToken",
  tags: ["Token"],
  summary: "Obtain an access token",
  description: "Whether token requests count towards the request rate is not shown.",
  security: [],
  requestBody: {
    required: true,
    content: { "application/x-www-form-urlencoded": { schema: ref("schemas/TokenRequest") } },
  },
};

export const TOKEN_RESPONSES: JsonObject = {
  200: ok("A token.", "Token", "token"),
  "4XX": {
    description: "The credentials are refused. Which status and body that has is not shown.",
    content: { "application/json": { schema: { description: "Not shown." } } },
  },
};
