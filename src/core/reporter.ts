import { messageOf } from "../errors/message-of.js";
import { redact, redactData } from "../errors/redact.js";
import type { HookEvents, Hooks, Logger } from "./events.js";

type Level = keyof Logger;

const titleOf = ({ method, path }: { method: string; path: string }) => `${method} ${path}`;

/** How each event is logged. */
const LINES: { [Name in keyof HookEvents]: (event: HookEvents[Name]) => [Level, string] } = {
  request: (event) => ["debug", `${titleOf(event)} (attempt ${event.attempt})`],
  response: (event) => ["debug", `${titleOf(event)}: ${event.status} after ${Math.round(event.durationMs)} ms`],
  retry: (event) => [
    "info",
    `${titleOf(event)}: attempt ${event.attempt - 1} failed (${event.reason}); again in ${Math.round(event.delayMs)} ms`,
  ],
  rateLimited: (event) => [
    "warn",
    `${titleOf(event)}: 429, all requests pause for ${Math.round(event.delayMs / 1_000)} s`,
  ],
  token: ({ expiresAt }) => ["debug", `a new token, good until ${new Date(expiresAt).toISOString()}`],
};

/** Tells the caller's logger and hooks what happens. Whatever they do, calls go on. */
export class Reporter {
  readonly #logger: Logger | undefined;
  readonly #hooks: Hooks;

  constructor(logger: Logger | undefined, hooks: Hooks = {}) {
    this.#logger = logger;
    this.#hooks = hooks;
  }

  log(level: Level, message: string): void {
    try {
      this.#logger?.[level](redact(`stocklot: ${message}`));
    } catch {
      // There is nobody left to tell.
    }
  }

  /** Calls the hook of an event and logs it. */
  emit<Name extends keyof HookEvents>(name: Name, event: HookEvents[Name]): void {
    if (this.#hooks[name]) this.guard(`the ${name} hook`, () => this.#hooks[name]?.(redactData(event)));
    if (this.#logger) this.log(...LINES[name](event));
  }

  /** Runs a callback of the caller's; an error in it is logged. */
  guard(what: string, run: () => unknown): void {
    const complain = (error: unknown) => this.log("error", `${what} threw: ${messageOf(error)}`);
    try {
      const result = run();
      if (result instanceof Promise) result.catch(complain);
    } catch (error) {
      complain(error);
    }
  }
}
