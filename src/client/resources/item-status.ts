import * as z from "zod";
import { type Item, itemSchema } from "../../service/item.js";
import { lazy } from "../../shared/schema.js";
import type { ResponseReader } from "../send/call.js";
import { assertMatchesSchema, createJsonReader, readJsonBody } from "../send/response.js";

/** The result of `items.create`. */
export interface CreatedItem {
  /** The SKU of the new item. */
  shortID: string;
  /** The operation that was applied. */
  status: "created";
  /** The whole item, if the response contains it. */
  item?: Item;
}

/** The result of `items.update`. */
export interface UpdatedItem {
  /** The SKU of the item. */
  shortID: string;
  /** The operation that was applied. */
  status: "updated";
}

/** The result of `items.discontinue`. */
export interface DiscontinuedItem {
  /** The SKU of the item. */
  shortID: string;
  /** The operation that was applied. */
  status: "discontinued";
}

const createdReferenceSchema = /* @__PURE__ */ lazy(() => z.object({ shortID: z.string() }));

/** A response with a part number is the item form. Fields may be missing, but those present must be valid. */
const createdItemSchema = /* @__PURE__ */ lazy(() => itemSchema().partial().required({ partNo: true, shortID: true }));

/** Reads both documented responses to a create: a reference, or the whole item. */
export function createCreatedItemReader(shortID: string): ResponseReader<CreatedItem> {
  return (context) => {
    const body = readJsonBody(context);
    const isItem = typeof body === "object" && body !== null && "partNo" in body;
    if (!isItem) {
      assertMatchesSchema(createdReferenceSchema, body, context);
      return { shortID: body?.shortID ?? shortID, status: "created" };
    }
    assertMatchesSchema(createdItemSchema, body, context);
    return { shortID: body.shortID, status: "created", ...(isCompleteItem(body) ? { item: body } : {}) };
  };
}

const isCompleteItem = (body: unknown): body is Item => itemSchema().safeParse(body).success;

/** Reads the item reference that the service returns for an update and a discontinue. */
export function createItemStatusReader<S extends string>(status: S): ResponseReader<{ shortID: string; status: S }> {
  const reference = /* @__PURE__ */ createJsonReader(createdReferenceSchema);
  return async (context) => ({ ...(await reference(context)), status });
}
