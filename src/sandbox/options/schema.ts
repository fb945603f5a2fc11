import * as z from "zod";
import { integer, lazy } from "../../schemas/field.js";
import { countOrInfinitySchema, functionSchema } from "../../schemas/option.js";
import { itemSchema } from "../../service/item.js";
import { lotSchema } from "../../service/lot.js";
import {
  datetimeString,
  delayMilliseconds,
  integerAtLeast,
  nonBlankString,
  nonNegativeQuantity,
} from "../validation.js";
import { faultRuleSchema } from "./fault-rule.js";
import type { SandboxOptions } from "./options.js";

/** The allowed values of each option. Contradictions between options are found when the data are created. */
export const sandboxOptionsSchema = lazy(() =>
  z
    .strictObject({
      clients: z.array(sandboxClientSchema()).nonempty("must not be empty"),
      warehouses: z.array(z.strictObject({ wID: integer(), name: z.string() })).nonempty("must not be empty"),
      items: countOrRecordsSchema(userItemSchema()),
      lots: countOrRecordsSchema(userLotSchema()),
      aliases: z.record(z.string(), z.string()),
      stockLevels: z.array(userStockLevelSchema()),
      seed: integer(),
      rateLimit: z.union([z.literal(false), sandboxRateLimitSchema()], { error: "must be an object or false" }),
      tokenTtlSeconds: z.number().positive(),
      latencyMs: z.union([delayMilliseconds(), latencyRangeSchema()], {
        error: "must be a number or [min, max], max not below min",
      }),
      now: functionSchema(),
      faults: z.array(faultRuleSchema()),
      createForm: z.enum(["reference", "item"]),
      duplicateStatus: z.literal([400, 409]),
      alternateNames: z.boolean(),
      receiveForm: transactionFormSchema(),
      moveForm: transactionFormSchema(),
      issueForm: transactionFormSchema(),
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
      sortOn: z.array(z.enum(["items", "lots", "stockLevels"])),
      reasonCodes: z.array(integer()),
      createdBy: z.enum(["omit", "text", "integer"]),
      requestLogSize: countOrInfinitySchema(),
      compression: z.boolean(),
    } satisfies Record<keyof SandboxOptions, z.ZodType>)
    .partial(),
);

function sandboxClientSchema() {
  return z.strictObject({
    clientId: nonBlankString(),
    clientSecret: nonBlankString(),
    warehouses: z.array(integer()).optional(),
    permissions: z.array(integer()).optional(),
    readOnly: z.boolean().optional(),
  });
}

function sandboxRateLimitSchema() {
  return z
    .strictObject({
      requests: integerAtLeast(1),
      intervalMs: z.number().positive(),
      window: z.enum(["sliding", "fixed"]),
      per: z.enum(["client", "address"]),
      retryAfter: z.literal([false, "seconds", "date"]),
      countRefused: z.boolean(),
    })
    .partial();
}

function latencyRangeSchema() {
  return z.tuple([delayMilliseconds(), delayMilliseconds()]).refine(([min, max]) => min <= max);
}

function countOrRecordsSchema(record: z.ZodType) {
  return z.union([integerAtLeast(0), z.array(record)], { error: "must be an integer or an array" });
}

function transactionFormSchema() {
  const names = ["object", "number", "text", "nested", "empty"] as const;
  return z.union([z.enum(names), functionSchema()], { error: `must be a function or one of ${names.join(", ")}` });
}

/** An item of the caller's. */
const userItemSchema = lazy(() =>
  allowUnknownFields(
    itemSchema()
      .extend({
        partNo: integerAtLeast(1),
        units: nonNegativeQuantity(),
        created: datetimeString(),
        modified: datetimeString(),
      })
      .partial()
      .extend({ shortID: nonBlankString() }),
  ),
);

/** A lot of the caller's. */
const userLotSchema = lazy(() =>
  allowUnknownFields(
    lotSchema()
      .extend({
        recNo: integerAtLeast(1),
        partNo: integerAtLeast(1),
        shortID: nonBlankString(),
        units: nonNegativeQuantity(),
        received: datetimeString(),
        shipped: datetimeString().nullable(),
      })
      .partial(),
  ),
);

/**
 * Unknown fields are kept, like fields that the service may add. One that differs from a documented name only in case is
 * a mistake: requests spell some names differently from responses.
 */
function allowUnknownFields(schema: z.ZodObject): z.ZodType {
  const names = new Map(Object.keys(schema.shape).map((field) => [field.toLowerCase(), field]));
  return schema.loose().superRefine((record, context) => {
    for (const field of Object.keys(record)) {
      const meant = names.get(field.toLowerCase());
      if (meant === undefined || meant === field) continue;
      context.addIssue({ code: "custom", path: [field], message: `must be spelled "${meant}"` });
    }
  });
}

const userStockLevelSchema = lazy(() =>
  z
    .strictObject({
      wid: integer(),
      onOrder: nonNegativeQuantity(),
      committed: nonNegativeQuantity(),
      packed: nonNegativeQuantity(),
      aSN: nonNegativeQuantity(),
    })
    .partial()
    .extend({ shortID: nonBlankString() }),
);
