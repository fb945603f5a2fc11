import * as z from "zod";
import { integer, lazy } from "../../schemas/field.js";
import { itemSchema } from "../../schemas/item.js";
import { lotSchema } from "../../schemas/lot.js";
import {
  callable,
  countOrInfinity,
  datetime,
  integerFrom,
  milliseconds,
  nonBlankString,
  quantity,
} from "../validation.js";
import { faultRuleSchema } from "./fault-rule.js";
import type { SandboxOptions } from "./options.js";

/** The allowed values of each option. Contradictions between options are found when the data are created. */
export const optionsSchema = lazy(() =>
  z
    .strictObject({
      clients: z.array(clientSchema()).nonempty("must not be empty"),
      warehouses: z.array(z.strictObject({ wID: integer(), name: z.string() })).nonempty("must not be empty"),
      items: countOr(userItemSchema()),
      lots: countOr(userLotSchema()),
      aliases: z.record(z.string(), z.string()),
      stockLevels: z.array(userStockLevelSchema()),
      seed: integer(),
      rateLimit: z.union([z.literal(false), rateLimitSchema()], { error: "must be an object or false" }),
      tokenTtlSeconds: z.number().positive(),
      latencyMs: z.union([milliseconds(), rangeSchema()], {
        error: "must be a number or [min, max], max not below min",
      }),
      now: callable(),
      faults: z.array(faultRuleSchema()),
      createForm: z.enum(["reference", "item"]),
      duplicateStatus: z.literal([400, 409]),
      alternateNames: z.boolean(),
      receiveForm: transactionForm(),
      moveForm: transactionForm(),
      issueForm: transactionForm(),
      receiveStatus: z.literal([200, 201]),
      tokenFailureStatus: z.literal([400, 401, 403]),
      tokenFailureForm: z.enum(["envelope", "oauth"]),
      expiresInForm: z.enum(["number", "text", "missing"]),
      unknownItemStatus: z.literal([400, 404]),
      shortageStatus: z.literal([400, 409]),
      unknownWarehouse: z.enum(["forbidden", "not-found"]),
      heldLots: z.enum(["allow", "refuse"]),
      invalidPaging: z.enum(["clamp", "refuse"]),
      modifiedSinceOn: z.array(z.enum(["items", "lots", "stockLevels"])),
      reasonCodes: z.array(integer()),
      createdBy: z.enum(["omit", "text", "integer"]),
      requestLogSize: countOrInfinity(),
      compression: z.boolean(),
    } satisfies Record<keyof SandboxOptions, z.ZodType>)
    .partial(),
);

function clientSchema() {
  return z.strictObject({
    clientId: nonBlankString(),
    clientSecret: nonBlankString(),
    warehouses: z.array(integer()).optional(),
    permissions: z.array(integer()).optional(),
    readOnly: z.boolean().optional(),
  });
}

function rateLimitSchema() {
  return z
    .strictObject({
      requests: integerFrom(1),
      intervalMs: z.number().positive(),
      window: z.enum(["sliding", "fixed"]),
      per: z.enum(["client", "address"]),
      retryAfter: z.literal([false, "seconds", "date"]),
      countRefused: z.boolean(),
    })
    .partial();
}

function rangeSchema() {
  return z.tuple([milliseconds(), milliseconds()]).refine(([min, max]) => min <= max);
}

function countOr(record: z.ZodType) {
  return z.union([integerFrom(0), z.array(record)], { error: "must be an integer or an array" });
}

function transactionForm() {
  const names = ["object", "number", "text", "nested", "empty"] as const;
  return z.union([z.enum(names), callable()], { error: `must be a function or one of ${names.join(", ")}` });
}

/** An item of the caller's. */
const userItemSchema = lazy(() =>
  openRecord(
    itemSchema()
      .extend({ partNo: integerFrom(1), units: quantity(), created: datetime(), modified: datetime() })
      .partial()
      .extend({ shortID: nonBlankString() }),
  ),
);

/** A lot of the caller's. */
const userLotSchema = lazy(() =>
  openRecord(
    lotSchema()
      .extend({
        recNo: integerFrom(1),
        partNo: integerFrom(1),
        shortID: nonBlankString(),
        units: quantity(),
        received: datetime(),
        shipped: datetime().nullable(),
      })
      .partial(),
  ),
);

/**
 * Unknown fields are kept, like fields that the service may add. One that differs from a documented name only in case is
 * a mistake: requests spell some names differently from responses.
 */
function openRecord(schema: z.ZodObject): z.ZodType {
  const names = new Map(Object.keys(schema.shape).map((field) => [field.toLowerCase(), field]));
  return schema.loose().superRefine((record, context) => {
    for (const field of Object.keys(record)) {
      const meant = names.get(field.toLowerCase());
      if (meant === undefined || meant === field) continue;
      context.addIssue({ code: "custom", path: [field], message: `must be spelt "${meant}"` });
    }
  });
}

const userStockLevelSchema = lazy(() =>
  z
    .strictObject({ wid: integer(), onOrder: quantity(), committed: quantity(), packed: quantity(), aSN: quantity() })
    .partial()
    .extend({ shortID: nonBlankString() }),
);
