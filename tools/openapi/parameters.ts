import type { JsonObject } from "./json.js";
import { ref } from "./json.js";

const query = (name: string, description: string, schema: JsonObject): JsonObject => ({
  name,
  in: "query",
  description,
  schema,
});

/** The parameters of every list. */
const PAGING = {
  page: query("page", "Page number, 1-based.", { type: "integer", minimum: 1, default: 1 }),
  pageSize: query(
    "pageSize",
    "Records per page. A larger value is no error: the service caps it silently at the maximum.",
    { type: "integer", minimum: 1, maximum: 250, default: 25 },
  ),
  sort: query(
    "sort",
    "Column to sort by, for example `shortID` for items. Which columns a list accepts is not shown; an invalid value is ignored and the default order applies.",
    { type: "string" },
  ),
  direction: query("direction", "Sort direction.", { type: "string", enum: ["ASC", "DESC"], default: "ASC" }),
  modifiedSince: query(
    "modifiedSince",
    "Only records whose Modified timestamp is on or after this value: ISO 8601, UTC recommended. Which lists support it is not shown; `GET /Item` does.",
    { type: "string", format: "date-time" },
  ),
} satisfies Readonly<Record<string, JsonObject>>;

export const PARAMETERS: JsonObject = PAGING;

export const paging: readonly JsonObject[] = Object.keys(PAGING).map((name) => ref(`parameters/${name}`));

/** The parameters that distinguish the forms of `GET /Item`. */
export const itemForms: readonly JsonObject[] = [
  query("key", "A ShortID (SKU) with `type=id`, or an alias (alternate part number) with `type=alias`.", {
    type: "string",
  }),
  query("type", "What `key` is.", { type: "string", enum: ["id", "alias"] }),
  query("Category", "Category ID.", { type: "integer" }),
];

export const inPath = (name: string, description: string, type: "integer" | "string"): JsonObject => ({
  name,
  in: "path",
  required: true,
  description,
  schema: { type },
});

/** Headers of a response with a page. */
export const PAGE_HEADERS: JsonObject = {
  "X-Total-Count": { description: "Total records matching the query.", schema: { type: "integer" } },
  "X-Page-Size": { description: "Page size applied.", schema: { type: "integer" } },
  "X-Page": { description: "Current page.", schema: { type: "integer" } },
  "X-API-Version": { description: "Version of the service.", schema: { type: "string", const: "v1" } },
};

export const pageHeaders: JsonObject = Object.fromEntries(
  Object.keys(PAGE_HEADERS).map((name) => [name, ref(`headers/${name}`)]),
);
