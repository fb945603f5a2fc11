import { createHash } from "node:crypto";
import * as z from "zod";
import { ConfigurationError } from "../errors/index.js";
import { messageOf } from "../errors/unknown-value.js";
import { canonicalJson } from "../schemas/canonical-json.js";
import { integer, lazy, string } from "../schemas/field.js";
import type { ServiceIdentity } from "../storage/service.js";
import { type StoredForm, storedFormSchema } from "./items/compare.js";

/** The value of a field at the time of the plan, and the one that it should have. */
export interface FieldChange {
  /** `null` in a create. */
  before: unknown;
  /** The desired value. */
  after: unknown;
}

/** A write of a plan. */
export interface ItemChange {
  /** The method of `client.items` that is called. */
  operation: "create" | "update" | "discontinue";
  /** SKU of the item. */
  shortID: string;
  /**
   * By name. In a create all fields of the row, in an update those that change, in a discontinue all fields of the item
   * except `modified`, of which only `discontinued` changes.
   */
  fields: Record<string, FieldChange>;
}

/** An item that needs a change that the plan cannot make. */
export interface BlockedItem {
  /** SKU of the item. */
  shortID: string;
  /** Why not. */
  reason: string;
}

/** How many items a plan creates, updates, discontinues and leaves alone. */
export interface PlanCounts {
  /** Items that will be created. */
  create: number;
  /** Items that will be updated. */
  update: number;
  /** Items that will be discontinued. */
  discontinue: number;
  /** Rows whose items are as desired. */
  unchanged: number;
  /** Items that need a change that the plan cannot make, see `plan.blocked`. */
  blocked: number;
}

/** What a plan contains, and its JSON form without the digest. */
export interface PlanContent {
  format: "stocklot plan";
  version: 1;
  kind: "items";
  /** Random; part of the keys in the outbox. */
  id: string;
  service: ServiceIdentity;
  /** When the catalog was read: ISO 8601 in UTC. */
  plannedAt: string;
  /** How many items the service listed then, discontinued ones included. */
  items: number;
  counts: PlanCounts;
  changes: ItemChange[];
  blocked: BlockedItem[];
  /** Values in another form than desired that counted as equal. */
  storedForms: StoredForm[];
}

const countsSchema = () =>
  z.strictObject({
    create: integer(),
    update: integer(),
    discontinue: integer(),
    unchanged: integer(),
    blocked: integer(),
  });

const contentSchema = lazy(() =>
  z.strictObject({
    format: z.literal("stocklot plan"),
    version: z.literal(1),
    kind: z.literal("items"),
    id: string().min(1),
    service: z.strictObject({ id: string(), address: string() }),
    plannedAt: string(),
    items: integer(),
    counts: countsSchema(),
    changes: z.array(
      z.strictObject({
        operation: z.enum(["create", "update", "discontinue"]),
        shortID: string(),
        fields: z.record(string(), z.strictObject({ before: z.unknown(), after: z.unknown() })),
      }),
    ),
    blocked: z.array(z.strictObject({ shortID: string(), reason: string() })),
    storedForms: z.array(storedFormSchema()),
  }),
);

/** By content: the order of names and spaces do not matter. */
export const digestOf = (content: PlanContent): string =>
  createHash("sha256").update(canonicalJson(content)).digest("hex");

/** The content of a plan in its JSON form. Throws a `ConfigurationError` if it is no plan, or was changed. */
export function parsePlan(json: unknown): PlanContent {
  const document = typeof json === "string" ? parseJson(json) : json;
  const { digest, ...given }: { digest?: unknown } = Object(document);
  const result = contentSchema().safeParse(given);
  if (!result.success || typeof digest !== "string") {
    throw new ConfigurationError("readPlan: this is not a plan, or one of another version. Make a new plan.");
  }
  if (digestOf(result.data) !== digest) {
    throw new ConfigurationError("readPlan: the plan was changed since. Make a new plan.");
  }
  return result.data;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text.replace(/^\uFEFF/, ""));
  } catch (error) {
    throw new ConfigurationError(`readPlan: this is not JSON (${messageOf(error)}).`, { cause: error });
  }
}
