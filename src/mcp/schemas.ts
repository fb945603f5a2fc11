import * as z from "zod";

/** Fields that the service may add pass through. */
const record = (shape: z.ZodRawShape) => z.looseObject(shape);

export const skuSchema = z.string().min(1).max(200).describe("SKU (shortID) of an item");
export const widSchema = z.int().min(0).optional().describe("ID of a warehouse; default: all");
export const keySchema = z.string().min(1).max(200);
export const limitSchema = (most: number, usual: number) => z.int().min(1).max(most).default(usual);

export const entrySchema = record({
  key: z.string(),
  operation: z.string(),
  input: z.unknown().optional().describe("as it was given; left out once it was pruned"),
  state: z.enum(["pending", "sending", "applied", "rejected", "unknown", "canceled"]),
  addedAt: z.string(),
  sentAt: z.string().optional(),
  settledAt: z.string().optional(),
  attempts: z.int(),
  result: z.unknown().optional(),
  error: z.unknown().optional(),
  next: z.string().describe("what to do next"),
});

export const itemSchema = record({
  shortID: z.string(),
  partNo: z.number(),
  description: z.unknown(),
  category: z.unknown(),
  uOM: z.unknown(),
  discontinued: z.unknown(),
});

export const levelSchema = record({
  sku: z.string(),
  description: z.unknown(),
  uOM: z.unknown().describe("the unit of all quantities"),
  discontinued: z.unknown(),
  level: record({}).nullable().describe("null: no stock level is listed"),
});
