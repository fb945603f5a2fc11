import {
  type CallToolResult,
  type InputRequiredResult,
  isInputRequiredResult,
  type McpServer,
  type ServerContext,
  type ToolAnnotations,
} from "@modelcontextprotocol/server";
import type * as z from "zod";
import { InputValidationError, StocklotError } from "../client/index.js";
import { redact } from "../shared/errors/redact.js";
import { monotonicNowMs, startTimer } from "../shared/time/clock.js";
import { messageOf, withoutControlCharacters } from "../shared/unknown.js";
import { type Room, TIMES, type Times } from "./room.js";

/** Why a call could not do what it was asked for, and what to do next. */
export class CallError extends Error {
  constructor(
    message: string,
    readonly next: string,
    readonly applied: "no" | "unknown" = "no",
  ) {
    super(message);
  }
}

/** One call of a tool. */
export interface Call {
  context: ServerContext;
  /** Aborted when the client cancels the call, or when it takes too long. */
  signal: AbortSignal;
}

/** A result: an object, or a question to a person. */
type Result = Record<string, unknown> | InputRequiredResult;

interface Tool<Input extends z.ZodObject> {
  description: string;
  input: Input;
  output: z.ZodObject;
  annotations: ToolAnnotations;
  /** Whether it may take longer than a minute. */
  isLong?: boolean;
  work(input: z.infer<Input>, call: Call): Promise<Result>;
}

/** Adds a tool. Its results are structured; its errors say whether anything was applied and what to do next. */
export function addTool<Input extends z.ZodObject>(
  server: McpServer,
  room: Room,
  name: string,
  tool: Tool<Input>,
): void {
  const { description, input, output, annotations, isLong = false, work } = tool;
  const config = { description, inputSchema: input, outputSchema: output, annotations };
  const times = { ...TIMES, ...room.times };
  server.registerTool<z.ZodObject, z.ZodObject>(name, config, async (given, context) => {
    const watch = watchCall(room, context, times, isLong);
    try {
      const { signal } = watch;
      // The schema was applied before.
      const result = await work(input.parse(given), { context, signal });
      return isInputRequiredResult(result) ? result : structured(result);
    } catch (error) {
      return failed(watch.signal.reason instanceof CallError ? watch.signal.reason : error);
    } finally {
      watch.stop();
    }
  });
}

function structured(value: Record<string, unknown>): CallToolResult {
  // What is undefined is left out, as in the message.
  const structuredContent: Record<string, unknown> = JSON.parse(JSON.stringify(value));
  return { structuredContent, content: [{ type: "text", text: escaped(JSON.stringify(structuredContent)) }] };
}

/** Control characters as JSON writes them, which changes no value. */
const escaped = (json: string) =>
  json.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (character) =>
    Array.from(
      { length: character.length },
      (_, at) => `\\u${character.charCodeAt(at).toString(16).padStart(4, "0")}`,
    ).join(""),
  );

function failed(error: unknown): CallToolResult {
  const { message, applied, next } = describeFailure(error);
  const text = withoutControlCharacters(redact(message).replace(/\s+/g, " ")).slice(0, MAX_MESSAGE_LENGTH);
  const lines = [`Failed: ${text}`, `Applied: ${applied}.`, `Next: ${next}`];
  return { isError: true, content: [{ type: "text", text: lines.join("\n") }] };
}

const MAX_MESSAGE_LENGTH = 2_000;

function describeFailure(error: unknown): { message: string; applied: string; next: string } {
  if (error instanceof CallError) return { message: error.message, applied: error.applied, next: error.next };
  const message = messageOf(error);
  if (error instanceof InputValidationError)
    return { message, applied: "no", next: "correct the arguments that the message names." };
  const applied = StocklotError.is(error) ? error.applied : "no";
  const next = applied === "no" ? "tell a person if it fails again." : "do not repeat it: tell a person.";
  return { message, applied, next };
}

/** Reports waits as progress, and ends a call that would take too long. */
function watchCall(
  room: Room,
  context: ServerContext,
  times: Times,
  isLong: boolean,
): { signal: AbortSignal; stop(): void } {
  const own = new AbortController();
  const { signal, notify, _meta } = context.mcpReq;
  const progressToken = _meta?.progressToken;
  const beganAt = monotonicNowMs();
  let reports = 0;
  const look = () => {
    const waitedMs = monotonicNowMs() - beganAt;
    const until = pausedUntil(room);
    if (!isLong && (waitedMs >= times.limitMs || until - Date.now() > times.limitMs)) own.abort(tooLong(until));
    else if (progressToken !== undefined && waitedMs >= times.progressMs * (reports + 1)) {
      reports += 1;
      const message = until > Date.now() ? `waiting for the rate limit until ${isoTime(until)}` : "still at work";
      const params = { progressToken, progress: reports, message };
      notify({ method: "notifications/progress", params }).catch(room.onError);
    }
    arm();
  };
  let stop = () => {};
  const arm = () => {
    stop = startTimer(Math.min(LOOK_EVERY_MS, times.progressMs), look);
  };
  arm();
  return { signal: AbortSignal.any([signal, own.signal]), stop: () => stop() };
}

const LOOK_EVERY_MS = 500;

const isoTime = (ms: number) => new Date(ms).toISOString();

/** When the service lets requests pass again, in ms since the epoch; 0 if it does. */
function pausedUntil(room: Room): number {
  try {
    return room.client().rateLimit.pausedUntil ?? 0;
  } catch {
    return 0;
  }
}

const tooLong = (until: number) =>
  new CallError(
    "it would take longer than a minute, since the service or its rate limit is busy.",
    `try again after ${isoTime(Math.max(until, Date.now() + 60_000))}.`,
  );
