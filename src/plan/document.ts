import { createHash, randomBytes } from "node:crypto";
import { accountOf } from "../client/for-add-ons.js";
import type { InventoryClient } from "../client/index.js";
import { canonicalJson } from "../shared/canonical-json.js";
import { ConfigurationError } from "../shared/errors/index.js";
import { castUnchecked, fieldOf, messageOf } from "../shared/unknown.js";
import type { ServiceAccount } from "../storage/service.js";

export const PLAN_FORMAT = { format: "stocklot plan", version: 2 } as const;

/** The first fields of every plan's document. */
export type PlanHead<Kind extends string> = typeof PLAN_FORMAT & {
  kind: Kind;
  /** Random; part of the keys in the outbox. */
  id: string;
  service: ServiceAccount;
  /** When the service was read: ISO 8601 in UTC. */
  plannedAt: string;
};

export const newPlanHead = <Kind extends string>(
  kind: Kind,
  client: InventoryClient,
  plannedAt: Date,
): PlanHead<Kind> => ({
  ...PLAN_FORMAT,
  kind,
  id: randomBytes(8).toString("hex"),
  service: accountOf(client),
  plannedAt: plannedAt.toISOString(),
});

/** Returns the SHA-256 of the content. The order of names and the spaces do not matter. */
const digestOf = (content: object): string => createHash("sha256").update(canonicalJson(content)).digest("hex");

export const withDigest = <T extends object>(content: T): T & { digest: string } => ({
  ...content,
  digest: digestOf(content),
});

/**
 * Returns the content of a document. The digest proves that the content is unchanged since {@link withDigest}.
 *
 * @throws ConfigurationError if the document has another format or version, or was changed.
 */
export function parseDocument<T extends { format: string; version: number }>(
  { method, noun }: { method: string; noun: string },
  { format, version }: Pick<T, "format" | "version">,
  json: unknown,
): T {
  // An object is copied: the content is frozen later, and the caller may change the original.
  const text = typeof json === "string" ? json : (JSON.stringify(json) ?? "");
  const { digest, ...content }: { digest?: unknown } = Object(parseDocumentJson(method, text));
  if (fieldOf(content, "format") !== format || fieldOf(content, "version") !== version) {
    throw new ConfigurationError(`${method}: this is not a ${noun} of this version of stocklot. Make a new ${noun}.`);
  }
  if (digestOf(content) === digest) return castUnchecked<T>(content);
  throw new ConfigurationError(`${method}: the ${noun} was changed since it was made. Make a new ${noun}.`);
}

function parseDocumentJson(method: string, text: string): unknown {
  try {
    return JSON.parse(text.replace(/^\uFEFF/, ""));
  } catch (error) {
    throw new ConfigurationError(`${method}: this is not JSON (${messageOf(error)}).`, { cause: error });
  }
}

/** Freezes a value with all its parts, so that what is applied is what was reviewed. */
export function deepFreeze<T>(value: T): T {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  for (const part of Object.values(value)) deepFreeze(part);
  return Object.freeze(value);
}
