import * as z from "zod";
import { itemSchema } from "../../service/item.js";
import { lotSchema } from "../../service/lot.js";
import { functionSchemaOf } from "../../shared/option.js";
import { checkConfiguration, configurationError, integer, lazy } from "../../shared/schema.js";
import { faultRuleSchema } from "../faults.js";
import { datetimeString, delayMilliseconds, integerAtLeast, nonBlankString, nonNegativeQuantity } from "../values.js";
import type { SandboxClient, SandboxItem, SandboxLot, SandboxOptions, SandboxWarehouse } from "./options.js";

type Completed = z.output<ReturnType<typeof sandboxOptionsSchema>>;

/** The caller's options, completed with defaults. */
export interface SandboxSettings extends Omit<Completed, "clients" | "warehouses" | "items" | "lots" | "latencyMs"> {
  readonly clients: readonly [SandboxClient, ...SandboxClient[]];
  readonly warehouses: readonly [SandboxWarehouse, ...SandboxWarehouse[]];
  readonly items: number | readonly SandboxItem[];
  readonly lots: number | readonly SandboxLot[];
  readonly latencyMs: readonly [min: number, max: number];
}

export type SandboxRateLimitSettings = Exclude<SandboxSettings["rateLimit"], false>;

const DEFAULT_ITEM_COUNT = 250;
const DEFAULT_LOT_COUNT = 2000;

const DEFAULT_CLIENT: SandboxClient = { clientId: "sandbox-client", clientSecret: "sandbox-secret" };

const DEFAULT_WAREHOUSES: [SandboxWarehouse, ...SandboxWarehouse[]] = [
  { wID: 1, name: "Central" },
  { wID: 2, name: "North" },
  { wID: 3, name: "South" },
  { wID: 4, name: "Returns" },
];

/** Adds the defaults. Throws a `ConfigurationError` for an option that does not exist or is invalid. */
export function resolveSandboxSettings(options: SandboxOptions): SandboxSettings {
  const given = checkConfiguration("createSandbox", sandboxOptionsSchema(), options);
  const { items, lots, ...rest } = given;
  const { latencyMs, ...completed } = sandboxOptionsSchema().parse(rest);
  const clients = nonEmptyListOr(given.clients ?? [], DEFAULT_CLIENT);
  const warehouses = nonEmptyListOr(given.warehouses ?? collectWarehouses(given), DEFAULT_WAREHOUSES[0]);
  assertUniqueField("clients", "clientId", clients);
  assertUniqueField("warehouses", "wID", warehouses);
  for (const { clientId, warehouses: scope = [] } of clients) {
    const unknown = scope.find((wanted) => !warehouses.some(({ wID }) => wID === wanted));
    if (unknown === undefined) continue;
    throw sandboxOptionError(["clients"], `there is no warehouse ${unknown}, which "${clientId}" is assigned to`);
  }
  return {
    ...completed,
    clients,
    warehouses,
    items: items ?? (Array.isArray(lots) ? 0 : DEFAULT_ITEM_COUNT),
    lots: lots ?? (Array.isArray(items) ? 0 : DEFAULT_LOT_COUNT),
    latencyMs: typeof latencyMs === "number" ? [latencyMs, latencyMs] : latencyMs,
  };
}

/** The default warehouses and those that the data name, if the caller lists none. Names in the data take precedence. */
function collectWarehouses({ lots, clients = [], stockLevels = [] }: SandboxOptions): SandboxWarehouse[] {
  const names = new Map<number | undefined, string | undefined>(DEFAULT_WAREHOUSES.map(({ wID, name }) => [wID, name]));
  for (const { wID, warehouse } of Array.isArray(lots) ? lots : []) names.set(wID, warehouse ?? names.get(wID));
  const others = [...clients.flatMap((client) => client.warehouses ?? []), ...stockLevels.map(({ wid }) => wid)];
  for (const wID of others) names.set(wID, names.get(wID));
  return [...names].flatMap(([wID, name = `Warehouse ${wID}`]) => (wID === undefined ? [] : [{ wID, name }]));
}

/** Returns the list with a type that has a first entry. That the list is not empty was checked before. */
const nonEmptyListOr = <T>([first, ...others]: readonly T[], fallback: T): [T, ...T[]] =>
  first === undefined ? [fallback] : [first, ...others];

/** Returns an object without the fields that are undefined, so that they do not override a default. */
export function withoutUndefined<T extends object>(fields: T): { [K in keyof T]: Exclude<T[K], undefined> };
export function withoutUndefined(fields: object): object {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

/** The allowed values of each option, and the defaults. Contradictions between options are found when the data are created. */
const sandboxOptionsSchema = lazy(() =>
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
    rewrite: functionSchemaOf<NonNullable<SandboxOptions["rewrite"]>>().optional(),
    createForm: z.enum(["reference", "item"]).default("reference"),
    modifiedSinceOn: listNamesSchema(),
    sortOn: listNamesSchema(),
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

export const sandboxOptionError = (path: (string | number)[], message: string) =>
  configurationError("createSandbox", [{ path, message }]);

/** Throws a `ConfigurationError` when two records have the same value in the field; records without a value are skipped. */
export function assertUniqueField<Name extends string>(
  option: string,
  field: Name,
  records: readonly { readonly [N in Name]?: string | number | undefined }[],
): void {
  const seen = new Set<string | number>();
  for (const record of records) {
    const value = record[field];
    if (value === undefined) continue;
    if (seen.has(value)) throw sandboxOptionError([option], `${field} ${value} occurs twice`);
    seen.add(value);
  }
}
