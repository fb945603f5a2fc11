import { createHash, randomBytes } from "node:crypto";
import * as z from "zod";
import { canonicalJson } from "../shared/canonical-json.js";
import { ConfigurationError } from "../shared/errors/index.js";
import { type LazySchema, string } from "../shared/field.js";
import { messageOf } from "../shared/unknown.js";
import { mayTakeOver, type ServiceIdentity } from "../storage/service.js";

/** What the documents of all plans begin with. */
export interface PlanHead<Kind extends string> {
  format: "stocklot plan";
  version: 1;
  kind: Kind;
  /** Random; part of the keys in the outbox. */
  id: string;
  service: ServiceIdentity;
  /** When the service was read: ISO 8601 in UTC. */
  plannedAt: string;
}

/** A document that a person may review and another process may use. */
interface DocumentKind<T> {
  /** The function that reads it, for messages. */
  method: string;
  /** What it is, for messages. */
  noun: string;
  schema: LazySchema<z.ZodType<T>>;
}

export const serviceSchema = () => z.strictObject({ id: string(), address: string() });

export const planHeadShape = <Kind extends string>(kind: Kind) => ({
  format: z.literal("stocklot plan"),
  version: z.literal(1),
  kind: z.literal(kind),
  id: string().min(1),
  service: serviceSchema(),
  plannedAt: string(),
});

export function newPlanHead<Kind extends string>(
  kind: Kind,
  service: ServiceIdentity,
  plannedAt: Date,
): PlanHead<Kind> {
  const { id, address } = service;
  return {
    format: "stocklot plan",
    version: 1,
    kind,
    id: randomBytes(8).toString("hex"),
    service: { id, address },
    plannedAt: plannedAt.toISOString(),
  };
}

/** By content: the order of names and spaces do not matter. */
const digestOf = (content: object): string => createHash("sha256").update(canonicalJson(content)).digest("hex");

export const withDigest = <T extends object>(content: T): T & { digest: string } => ({
  ...content,
  digest: digestOf(content),
});

/** The content of a document in its JSON form. Throws a `ConfigurationError` if it is none, or was changed. */
export function parseDocument<T extends object>({ method, noun, schema }: DocumentKind<T>, json: unknown): T {
  const { digest, ...given }: { digest?: unknown } = Object(typeof json === "string" ? parseJson(method, json) : json);
  const result = schema().safeParse(given);
  if (!result.success || typeof digest !== "string") {
    throw new ConfigurationError(`${method}: this is not a ${noun}, or one of another version. Make a new ${noun}.`);
  }
  if (digestOf(result.data) !== digest) {
    throw new ConfigurationError(`${method}: the ${noun} was changed since. Make a new ${noun}.`);
  }
  return result.data;
}

function parseJson(method: string, text: string): unknown {
  try {
    return JSON.parse(text.replace(/^\uFEFF/, ""));
  } catch (error) {
    throw new ConfigurationError(`${method}: this is not JSON (${messageOf(error)}).`, { cause: error });
  }
}

/** Throws a `ConfigurationError` if a document belongs to another service than a client or an outbox. */
export function assertDocumentOf(
  { method, noun }: { method: string; noun: string },
  { service }: { service: ServiceIdentity },
  { service: own }: { service: ServiceIdentity | undefined },
): void {
  if (!own || service.id === own.id || mayTakeOver(service.id, own)) return;
  throw new ConfigurationError(
    `${method}: the ${noun} belongs to the service "${service.id}", and the client to "${own.id}". Nothing was sent. Make a ${noun} for this service.`,
  );
}

/** What is applied is what was reviewed. */
export function deepFreeze<T>(value: T): T {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  for (const part of Object.values(value)) deepFreeze(part);
  return Object.freeze(value);
}
