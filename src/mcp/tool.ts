import {
  type CallToolResult,
  type InputRequiredResult,
  isInputRequiredResult,
  type McpServer,
  type ServerContext,
  type ToolAnnotations,
} from "@modelcontextprotocol/server";
import * as z from "zod";
import { InputValidationError, StocklotError } from "../client/index.js";
import { redact, redactCredentials, redactData } from "../shared/errors/redact.js";
import { readInput } from "../shared/schema.js";
import { monotonicNowMs } from "../shared/time/clock.js";
import { escapeControlCharacters, messageOf, withoutControlCharacters } from "../shared/unknown.js";
import type { ServerParts } from "./parts.js";

/** Why a call could not do what it was asked for, and what to do next. Nothing was applied. */
export class CallError extends Error {
  constructor(
    message: string,
    readonly next: string,
  ) {
    super(message);
  }
}

export interface ToolCall {
  context: ServerContext;
  /** Aborted when the client cancels the call, or when the call takes too long. */
  signal: AbortSignal;
}

type Result = Record<string, unknown> | InputRequiredResult;

interface Tool<Input> {
  description: string;
  input: z.ZodType<Input>;
  output: z.ZodObject;
  /** @default those of a tool that reads the service */
  annotations?: ToolAnnotations;
  /** Whether a call may take longer than a minute. */
  isLong?: boolean;
  work(input: Input, call: ToolCall): Promise<Result>;
}

export const READ_ONLY: ToolAnnotations = { readOnlyHint: true, idempotentHint: true, openWorldHint: true };

/** A record of the service. Fields that the service adds later pass through. */
export const record = (shape: z.ZodRawShape) => z.looseObject(shape);

/** Adds a tool. Its errors say whether anything was applied, and what to do next. */
export function addTool<Input>(
  server: McpServer,
  parts: ServerParts,
  name: string,
  { description, input, output, annotations = READ_ONLY, isLong = false, work }: Tool<Input>,
): void {
  // The arguments are checked below, so that these errors have the same form as all others.
  const inputSchema = { "~standard": { ...input["~standard"], validate: (value: unknown) => ({ value }) } };
  const config = { description, inputSchema, outputSchema: output, annotations };
  server.registerTool(name, config, async (given, context) => {
    const late = new AbortController();
    const stop = watch(parts, context, isLong ? undefined : (reason) => late.abort(reason));
    try {
      const signal = AbortSignal.any([context.mcpReq.signal, late.signal]);
      const result = await work(
        readInput(name, () => input, given, []),
        { context, signal },
      );
      return isInputRequiredResult(result) ? result : structured(result);
    } catch (error) {
      return failed(late.signal.reason ?? error);
    } finally {
      stop();
    }
  });
}

/** The longest input of a write. Longer texts are cut in results. */
export const MAX_TEXT_LENGTH = 4_000;
/** The longest error: it may show two inputs. */
const MAX_ERROR_LENGTH = 3 * MAX_TEXT_LENGTH;

const cut = (text: string, length: number) => (text.length > length ? `${text.slice(0, length)}…` : text);

function structured(value: Record<string, unknown>): CallToolResult {
  // Without fields that are undefined, like the JSON of the message.
  const plain: Record<string, unknown> = JSON.parse(JSON.stringify(value));
  const structuredContent = redactData(plain, (text) => cut(redactCredentials(text), MAX_TEXT_LENGTH));
  const text = escapeControlCharacters(JSON.stringify(structuredContent));
  return { structuredContent, content: [{ type: "text", text }] };
}

function failed(error: unknown): CallToolResult {
  const applied = StocklotError.is(error) ? error.applied : "no";
  const lines = [`Failed: ${messageOf(error)}`, `Applied: ${applied}.`, `Next: ${nextOf(error, applied)}`];
  const toLine = (text: string) => withoutControlCharacters(cut(redact(text).replace(/\s+/g, " "), MAX_ERROR_LENGTH));
  return { isError: true, content: [{ type: "text", text: lines.map(toLine).join("\n") }] };
}

function nextOf(error: unknown, applied: StocklotError["applied"]): string {
  if (error instanceof CallError) return error.next;
  if (error instanceof InputValidationError) return "correct the arguments that the message names.";
  if (applied === "no") return "tell a person if it fails again.";
  return "do not book it again: call get_write with the same key.";
}

const CHECK_EVERY_MS = 500;

/** Reports waits as progress, and ends a call that would take too long. Returns a function that stops watching. */
function watch(
  { client, times: { progressMs, limitMs }, onError }: ServerParts,
  { mcpReq: { _meta, notify } }: ServerContext,
  end: ((reason: CallError) => void) | undefined,
): () => void {
  const progressToken = _meta?.progressToken;
  const beganAt = monotonicNowMs();
  let progress = 0;
  const check = () => {
    const waitedMs = monotonicNowMs() - beganAt;
    const pausedUntil = (client instanceof Error ? null : client.rateLimit.pausedUntil) ?? 0;
    if (end && (waitedMs >= limitMs || pausedUntil - Date.now() > limitMs)) return end(tooLong(pausedUntil));
    if (progressToken === undefined || waitedMs < progressMs * (progress + 1)) return;
    progress += 1;
    const isPaused = pausedUntil > Date.now();
    const message = isPaused ? `waiting for the rate limit until ${isoTime(pausedUntil)}` : "still at work";
    notify({ method: "notifications/progress", params: { progressToken, progress, message } }).catch(onError);
  };
  const timer = setInterval(check, Math.min(CHECK_EVERY_MS, progressMs));
  return () => clearInterval(timer);
}

export const isoTime = (ms: number) => new Date(ms).toISOString();

const tooLong = (until: number) =>
  new CallError(
    "it would take longer than a minute, since the service or its rate limit is busy.",
    `try again after ${isoTime(Math.max(until, Date.now() + 60_000))}.`,
  );
