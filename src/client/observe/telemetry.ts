import { redact, redactFields } from "../../shared/errors/redaction/redact.js";
import { callSafely } from "../../shared/time/callback.js";
import { messageOf } from "../../shared/unknown.js";
import { describeHeaderProblem } from "../send/request-options.js";
import { CHANNELS, type ChannelName } from "./channels.js";
import type { DiagnosticsMessages, EndEvent, Events, Hooks, Logger, RequestEvent, WaitingEvent } from "./events.js";

type LogLevel = keyof Logger;

const methodAndPathOf = ({ method, path }: { method: string; path: string }) => `${method} ${path}`;

/** The log lines of events; those that only channels report have none. */
const LOG_LINES: { [Name in keyof Events]?: (event: Events[Name]) => [LogLevel, string] } = {
  request: (event) => ["debug", `${methodAndPathOf(event)} (attempt ${event.attempt})`],
  response: (event) => ["debug", `${methodAndPathOf(event)}: ${event.status} after ${Math.round(event.durationMs)} ms`],
  retry: (event) => [
    "info",
    `${methodAndPathOf(event)}: attempt ${event.attempt - 1} failed (${event.reason}); next attempt ${describeDelay(event.delayMs)}`,
  ],
  rateLimited: (event) => [
    "warn",
    `${methodAndPathOf(event)}: 429, all requests pause for ${Math.round(event.delayMs / 1_000)} s`,
  ],
  waiting: ({ reason, waitedMs, expectedMs, ...call }) => [
    "info",
    `${methodAndPathOf(call)}: has waited ${formatSeconds(waitedMs)} for ${WAIT_REASON_TEXT[reason]}` +
      (expectedMs === undefined ? "" : `; expected in ${formatSeconds(expectedMs)}`),
  ],
  token: ({ expiresAt }) => ["debug", `received a new token, valid until ${new Date(expiresAt).toISOString()}`],
};

const WAIT_REASON_TEXT: Record<WaitingEvent["reason"], string> = {
  limit: "a slot: all slots of rateLimit are in use",
  pause: "the end of the pause after a 429",
  token: "a token",
};

const describeDelay = (ms: number) => (ms === 0 ? "with the next slot" : `in ${Math.round(ms)} ms`);

const formatSeconds = (ms: number) => `${(ms / 1_000).toFixed(1)} s`;

const CHANNEL_BY_EVENT: Record<keyof Events, ChannelName> = {
  start: "stocklot:request",
  request: "stocklot:request",
  response: "stocklot:request",
  end: "stocklot:request",
  retry: "stocklot:retry",
  rateLimited: "stocklot:rate-limit",
  token: "stocklot:token",
  waiting: "stocklot:waiting",
  queued: "stocklot:slot",
  slot: "stocklot:slot",
  failed: "stocklot:attempt",
};

/** How many calls are kept for a bug report. */
const MAX_RECENT_CALLS = 50;

/** Reports events to the caller's logger and hooks and to the diagnostics channels. Their failures never affect a call. */
export class Telemetry {
  /** The calls that ended last, the oldest first. */
  readonly recentCalls: EndEvent[] = [];
  readonly #logger: Logger | undefined;
  readonly #hooks: { [Name in keyof Events]?: ((event: Events[Name]) => void) | undefined };

  /** Logs a warning. What keeps this function alive does not keep the client alive, which idle connections must not do. */
  readonly warn = (message: string): void => this.log("warn", message);

  constructor(logger: Logger | undefined, hooks: Hooks = {}) {
    this.#logger = logger;
    this.#hooks = { ...hooks };
  }

  log(level: LogLevel, message: string): void {
    const logger = this.#logger;
    // A failure of the logger itself cannot be reported anywhere.
    if (logger) callSafely(() => logger[level](redact(`stocklot: ${message}`)));
  }

  /** Calls the hook of an event, publishes it and logs it. The event is only created if someone listens. */
  emit<Name extends keyof Events>(name: Name, createEvent: () => Events[Name]): void {
    const hook = this.#hooks[name];
    const line = this.#logger && LOG_LINES[name];
    const channel = CHANNELS[CHANNEL_BY_EVENT[name]];
    if (!hook && !line && !channel.hasSubscribers) return;
    const event = createEvent();
    if (hook) this.guard(`the ${name} hook`, () => hook(redactFields(event)));
    if (channel.hasSubscribers) channel.publish({ type: name, ...redactFields(event) });
    if (line) this.log(...line(event));
  }

  /** Emits the end of a call, and keeps it for the bug report. */
  end(event: EndEvent): void {
    this.recentCalls.push(event);
    if (this.recentCalls.length > MAX_RECENT_CALLS) this.recentCalls.shift();
    this.emit("end", () => event);
  }

  /** Runs a callback of the caller's and logs its error or rejection. */
  guard(what: string, run: () => unknown): void {
    callSafely(run, (error) => this.log("error", `${what} threw: ${messageOf(error)}`));
  }
}

/** Sends an attempt as the subscribers of `stocklot:attempt` specify: with their headers, and in their async context. */
export function sendWithInstrumentation<T>(
  event: () => RequestEvent,
  headers: Record<string, string>,
  send: () => Promise<T>,
): Promise<T> {
  const attempts = CHANNELS["stocklot:attempt"];
  if (!attempts.hasSubscribers) return send();
  let result: Promise<T> | undefined;
  let sendOnce = () => {
    result ??= send();
  };
  const message: DiagnosticsMessages["stocklot:attempt"] = {
    type: "sending",
    ...redactFields(event()),
    setHeader(name, value) {
      const key = name.toLowerCase();
      if (!Object.hasOwn(headers, key) && describeHeaderProblem(key, value) === undefined) headers[key] = value;
    },
    sendWithin(run) {
      const inner = sendOnce;
      sendOnce = () => run(inner);
    },
  };
  attempts.publish(message);
  try {
    sendOnce();
  } catch {
    // An instrumentation must not fail a call: it is sent outside its context.
  }
  return result ?? send();
}
