import { z } from "zod";
import { redact } from "../errors/redact.js";
import { lazy } from "../schemas/field.js";
import type { WireResponse } from "./transport.js";

const LONGEST_EXCERPT = 200;

/** The documented codes of the statuses, for answers that carry none. */
const CODES: Record<number, string> = {
  400: "bad_request",
  401: "unauthorized",
  403: "forbidden",
  404: "not_found",
  409: "conflict",
  429: "rate_limited",
  500: "internal_error",
  501: "not_implemented",
};

/** Anything goes in an error body: a proxy may have written it. Each field is taken if it is what it should be. */
const errorBodySchema = lazy(() => {
  const text = z.string().min(1).optional().catch(undefined);
  return z.object({
    error: text,
    message: text,
    error_description: text,
    title: text,
    details: z.record(z.string(), z.unknown()).optional().catch(undefined),
  });
});

export interface ErrorBody {
  code: string;
  message: string;
  details: Record<string, string[]> | undefined;
}

/** What an error body says, whatever its form: the documented object, one with only a message, HTML, or nothing. */
export function readErrorBody({ status, body }: WireResponse): ErrorBody {
  const text = body.toString("utf8");
  const parsed = errorBodySchema().safeParse(parseJson(text)).data;
  return {
    code: parsed?.error ?? CODES[status] ?? "unknown",
    message: parsed?.message ?? parsed?.error_description ?? parsed?.title ?? parsed?.error ?? describe(status, text),
    details: parsed?.details && messagesByField(parsed.details),
  };
}

/** The messages of each field that has any; what is no message is passed over. */
function messagesByField(details: Record<string, unknown>): Record<string, string[]> {
  const messages = Object.entries(details).map(([field, given]): [string, string[]] => [
    field,
    [given].flat().filter((message) => typeof message === "string"),
  ]);
  return Object.fromEntries(messages.filter(([, found]) => found.length > 0));
}

function describe(status: number, text: string): string {
  // Redacted as a whole: what is left of a secret that was cut in two could not be recognised.
  const excerpt = redact(text)
    .slice(0, 20 * LONGEST_EXCERPT)
    .replace(/<(script|style)[\s\S]*?<\/\1>|<[^>]*>/gi, " ")
    .replace(/\s+/g, " ")
    .trim()
    .slice(0, LONGEST_EXCERPT);
  return excerpt ? `HTTP ${status}: ${excerpt}` : `HTTP ${status} without a message`;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
