import * as z from "zod";
import type { ResponseReader } from "../core/call.js";
import { assertSchema, jsonReader, readJson } from "../core/response/decode.js";
import { lazy } from "../schemas/field.js";
import { type Item, itemSchema } from "../schemas/item.js";

/** What `items.create` gives. */
export interface CreatedItem {
  /** The SKU of the new item. */
  shortID: string;
  /** What became of it. */
  status: "created";
  /** The whole item, where the service answers with it. */
  item?: Item;
}

/** What `items.update` gives. */
export interface UpdatedItem {
  /** The SKU of the item. */
  shortID: string;
  /** What became of it. */
  status: "updated";
}

/** What `items.discontinue` gives. */
export interface DiscontinuedItem {
  /** The SKU of the item. */
  shortID: string;
  /** What became of it. */
  status: "discontinued";
}

const referenceSchema = /* @__PURE__ */ lazy(() => z.object({ shortID: z.string() }));

/** The item form of the answer to a create is told by its part number; fields that it has must be right. */
const createdItemSchema = /* @__PURE__ */ lazy(() => itemSchema().partial().required({ partNo: true, shortID: true }));

/** Either documented form of the answer to a create: a reference, or the whole item. */
export function createdItemReader(shortID: string): ResponseReader<CreatedItem> {
  return (response, call, check) => {
    const body = readJson(response, call, check);
    const isItem = typeof body === "object" && body !== null && "partNo" in body;
    if (!isItem) {
      assertSchema(referenceSchema, body, response, call, check);
      return { shortID: body?.shortID ?? shortID, status: "created" };
    }
    assertSchema(createdItemSchema, body, response, call, check);
    return { shortID: body.shortID, status: "created", ...(isComplete(body) ? { item: body } : {}) };
  };
}

const isComplete = (body: unknown): body is Item => itemSchema().safeParse(body).success;

/** The item reference that answers an update and a discontinue. */
export function itemStatusReader<S extends string>(status: S): ResponseReader<{ shortID: string; status: S }> {
  const reference = /* @__PURE__ */ jsonReader(referenceSchema);
  return async (response, call, check) => ({ ...(await reference(response, call, check)), status });
}
