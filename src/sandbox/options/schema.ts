import * as z from "zod";
import { integer, lazy } from "../../schemas/field.js";
import { countOrInfinitySchema, functionSchemaOf } from "../../schemas/option.js";
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

/** The allowed values of each option, and the defaults. Contradictions between options are found when the data are created. */
export const sandboxOptionsSchema = lazy(() =>
  z.strictObject({
    clients: z.array(sandboxClientSchema()).nonempty("must not be empty").optional(),
    warehouses: z
      .array(z.strictObject({ wID: integer(), name: z.string() }))
      .nonempty("must not be empty")
      .optional(),
    items: countOrRecordsSchema(userItemSchema()).optional(),
    lots: countOrRecordsSchema(userLotSchema()).optional(),
    aliases: z.record(z.string(), z.string()).optional(),
    stockLevels: z.array(userStockLevelSchema()).optional(),
    seed: integer().default(1),
    rateLimit: z
      .union([z.literal(false), sandboxRateLimitSchema()], { error: "must be an object or false" })
      .prefault({}),
    tokenTtlSeconds: z.number().positive().default(3600),
    latencyMs: z
      .union([delayMilliseconds(), latencyRangeSchema()], {
        error: "must be a number or [min, max], max not below min",
      })
      .default(0),
    now: functionSchemaOf<() => number>().default(() => () => Date.now()),
    faults: z.array(faultRuleSchema()).default([]),
    createForm: z.enum(["reference", "item"]).default("reference"),
    duplicateStatus: z.literal([400, 409]).default(409),
    alternateNames: z.boolean().default(true),
    receiveForm: transactionFormSchema().default("object"),
    moveForm: transactionFormSchema().default("object"),
    issueForm: transactionFormSchema().default("object"),
    receiveStatus: z.literal([200, 201]).default(201),
    tokenFailureStatus: z.literal([400, 401, 403]).default(401),
    tokenFailureForm: z.enum(["envelope", "oauth"]).default("envelope"),
    expiresInForm: z.enum(["number", "text", "missing"]).default("number"),
    unknownItemStatus: z.literal([400, 404]).default(400),
    shortageStatus: z.literal([400, 409]).default(400),
    unknownWarehouse: z.enum(["forbidden", "not-found"]).default("forbidden"),
    heldLots: z.enum(["allow", "refuse"]).default("allow"),
    invalidPaging: z.enum(["clamp", "refuse"]).default("clamp"),
    modifiedSinceOn: listNamesSchema(),
    sortOn: listNamesSchema(),
    reasonCodes: z.array(integer()).optional(),
    createdBy: z.enum(["omit", "text", "integer"]).default("omit"),
    requestLogSize: countOrInfinitySchema().default(100_000),
    compression: z.boolean().default(true),
  } satisfies Record<keyof SandboxOptions, z.ZodType>),
);

function listNamesSchema() {
  const names = ["items", "lots", "stockLevels"] as const;
  return z.array(z.enum(names)).default([...names]);
}

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
  return z.strictObject({
    requests: integerAtLeast(1).default(100),
    intervalMs: z.number().positive().default(60_000),
    window: z.enum(["sliding", "fixed"]).default("sliding"),
    per: z.enum(["client", "address"]).default("client"),
    retryAfter: z.literal([false, "seconds", "date"]).default(false),
    countRefused: z.boolean().default(false),
  });
}

function latencyRangeSchema() {
  return z.tuple([delayMilliseconds(), delayMilliseconds()]).refine(([min, max]) => min <= max);
}

function countOrRecordsSchema(record: z.ZodType) {
  return z.union([integerAtLeast(0), z.array(record)], { error: "must be an integer or an array" });
}

function transactionFormSchema() {
  const names = ["object", "number", "text", "nested", "empty"] as const;
  return z.union([z.enum(names), functionSchemaOf<(recNo: number) => unknown>()], {
    error: `must be a function or one of ${names.join(", ")}`,
  });
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
