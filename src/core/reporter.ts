import { messageOf } from "../errors/message-of.js";
import { redact, redactData } from "../errors/redact.js";
import type { HookEvents, Hooks, Logger } from "./events.js";

type Level = keyof Logger;

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

  /** Calls a hook and writes a line. Both are made only when somebody listens. */
  emit<Name extends keyof HookEvents>(
    name: Name,
    level: Level,
    event: () => HookEvents[Name],
    line: () => string,
  ): void {
    if (this.#hooks[name]) this.guard(`the ${name} hook`, () => this.#hooks[name]?.(redactData(event())));
    if (this.#logger) this.log(level, line());
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
