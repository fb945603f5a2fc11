import { documentedPaths } from "../../service/operations.js";
import { redact, redactFields } from "../../shared/errors/redact.js";
import { callSafely, isTrue, settle } from "../../shared/time/callback.js";
import { fieldOf, messageOf } from "../../shared/unknown.js";
import type { ExchangeEnd, ExchangeFailure } from "../transport/exchange.js";
import { describeHeaderProblem } from "../transport/headers.js";
import type {
  AttemptEnd,
  CallInfo,
  CallObservation,
  ClientState,
  HookEvents,
  Hooks,
  Instrumentation,
  Logger,
} from "./events.js";

type LogLevel = keyof Logger;

const lineStart = ({ method, path }: { method: string; path: string }) => `${method} ${path}`;

/** The log lines of events. */
const LOG_LINES: { [Name in keyof HookEvents]: (event: HookEvents[Name]) => [LogLevel, string] } = {
  request: (event) => ["debug", `${lineStart(event)} (attempt ${event.attempt})`],
  response: (event) => ["debug", `${lineStart(event)}: ${event.status} after ${Math.round(event.durationMs)} ms`],
  retry: (event) => [
    "info",
    `${lineStart(event)}: attempt ${event.attempt - 1} failed (${event.reason}), it will be retried`,
  ],
  rateLimited: (event) => [
    "warn",
    `${lineStart(event)}: 429, all requests pause for ${Math.round(event.delayMs / 1_000)} s`,
  ],
  waiting: (event) => [
    "info",
    `${lineStart(event)}: waits for ${event.reason === "pause" ? "the end of the pause after a 429" : "a slot of rateLimit"}, at least ${(event.expectedMs / 1_000).toFixed(1)} s`,
  ],
  token: ({ expiresAt }) => ["debug", `received a new token, valid until ${new Date(expiresAt).toISOString()}`],
};

export const HOOK_NAMES = /* @__PURE__ */ Object.keys(LOG_LINES);

/** The key of the instrumentation, which the ES module and the CommonJS copy of the package share. */
const INSTRUMENTATION: unique symbol = Symbol.for("stocklot.instrumentation");

const globals: typeof globalThis & { [INSTRUMENTATION]?: Instrumentation } = globalThis;

/**
 * Observes all clients of the process. Returns a function that ends the observation. If the clients are observed
 * already, nothing changes, and the result is `undefined`.
 */
export function instrument(instrumentation: Instrumentation): (() => void) | undefined {
  if (globals[INSTRUMENTATION]) return undefined;
  globals[INSTRUMENTATION] = instrumentation;
  return () => {
    if (globals[INSTRUMENTATION] === instrumentation) delete globals[INSTRUMENTATION];
  };
}

/** Reports events to the caller's logger and hooks and to instrumentations. Their failures never affect a call. */
export class Observer {
  readonly #logger: Logger | undefined;
  readonly #hooks: { readonly [Name in keyof HookEvents]?: (event: HookEvents[Name]) => unknown };

  constructor(logger: Logger | undefined, hooks: Hooks = {}) {
    this.#logger = logger;
    // The hooks are read once. They may be an instance of a class, whose methods are on its prototype.
    this.#hooks = Object.fromEntries(
      HOOK_NAMES.flatMap((name) => {
        const hook = fieldOf(hooks, name);
        return typeof hook === "function" ? [[name, hook.bind(hooks)]] : [];
      }),
    );
  }

  /** Logs a warning. Idle connections refer to this function, so it must not refer to the client. */
  readonly warn = (message: string): void => this.log("warn", message);

  log(level: LogLevel, message: string): void {
    const logger = this.#logger;
    // A failure of the logger itself cannot be reported anywhere.
    if (logger) callSafely(() => logger[level](redact(`stocklot: ${message}`)));
  }

  /** Whether a hook or a logger receives events of this name. */
  hasListener(name: keyof HookEvents): boolean {
    return this.#logger !== undefined || this.#hooks[name] !== undefined;
  }

  /** Calls the hook of an event, and logs it. The event is only created if someone listens. */
  emit<Name extends keyof HookEvents>(name: Name, createEvent: () => HookEvents[Name]): void {
    if (!this.hasListener(name)) return;
    const event = redactFields(createEvent());
    const hook = this.#hooks[name];
    if (hook) this.guard(`the ${name} hook`, () => hook({ ...event }));
    if (this.#logger) this.log(...LOG_LINES[name](event));
  }

  /** Runs a callback of the caller's and logs its error or rejection. */
  guard(what: string, run: () => unknown): void {
    callSafely(run, (error) => this.log("error", `${what} threw: ${messageOf(error)}`));
  }

  /** Begins the observation of a call. It costs next to nothing if nobody records. */
  startCall(client: ClientState, method: string, path: string): CallObserver {
    const observation = observe((one) => one.startCall(createCallInfo(client, method, path)));
    return observation ? new CallObserver(observation) : UNOBSERVED;
  }

  /** Runs a method that sends several requests, and observes them as one method. */
  async runMethod<T>(client: ClientState, name: string, run: () => Promise<T>): Promise<T> {
    const observation = observe((one) => one.startMethod?.({ name, client }));
    if (!observation) return await run();
    let error: string | undefined;
    try {
      return await within(run, (inner) => observation.within(inner));
    } catch (thrown) {
      error = nameOfThrown(thrown);
      throw thrown;
    } finally {
      callSafely(() => observation.ended({ status: undefined, error }));
    }
  }
}

/** Returns the name of an error for metrics and spans; for a thrown value without a name, its type. */
export function nameOfThrown(thrown: unknown): string {
  try {
    return String(fieldOf(thrown, "name") || typeof thrown);
  } catch {
    // A getter or a Proxy of the caller's has thrown.
    return typeof thrown;
  }
}

/** Asks the instrumentation of the process, if there is one. It may return anything, so the result is checked. */
function observe<O>(start: (one: Instrumentation) => O | undefined): O | undefined {
  const one = globals[INSTRUMENTATION];
  if (!one) return undefined;
  try {
    if (isTrue(one.isIdle?.())) return undefined;
    const observation = start(one);
    if (typeof fieldOf(observation, "then") !== "function") return observation;
    settle(observation);
  } catch {
    // The instrumentation failed: the call goes on unobserved.
  }
  return undefined;
}

function createCallInfo(client: ClientState, method: string, given: string): CallInfo {
  // Paths that the document prints contain no secrets.
  const path = LITERAL_PATHS.has(given) ? given : redact(given);
  return { client, method, path, url: client.url + path };
}

/** The observation of one call. */
export class CallObserver {
  constructor(private readonly observation: CallObservation | undefined) {}

  notify(report: (observation: CallObservation) => void): void {
    const observation = this.observation;
    if (observation) callSafely(() => report(observation));
  }

  /** Runs the call within its observation. */
  run<T>(run: () => Promise<T>): Promise<T> {
    const observation = this.observation;
    return observation ? within(run, (inner) => observation.within(inner)) : run();
  }

  /** Runs an attempt within its observation, which may add headers. */
  attempt(
    event: HookEvents["request"],
    headers: Record<string, string>,
    run: () => Promise<ExchangeEnd>,
  ): Promise<ExchangeEnd> {
    const observation = this.observation;
    if (!observation) return run();
    const setHeader = (name: string, value: string) => {
      const key = name.toLowerCase();
      const isValid = typeof value === "string" && describeHeaderProblem(key, value) === undefined;
      if (isValid && !Object.hasOwn(headers, key)) headers[key] = value;
    };
    const seen = redactFields(event);
    return within(run, (inner) =>
      observation.attempt(seen, setHeader, () =>
        inner().then(
          ({ response, failure }): AttemptEnd => ({
            status: response?.status,
            error: failure && typeOfFailure(failure),
          }),
        ),
      ),
    );
  }
}

const LITERAL_PATHS: ReadonlySet<string> = new Set(documentedPaths().filter((path) => !path.includes("{")));

const UNOBSERVED = new CallObserver(undefined);

/** Runs a function once within an observation, whatever the observation returns or throws, and whenever it calls the function. */
function within<T>(run: () => Promise<T>, invoke: (inner: () => Promise<T>) => void): Promise<T> {
  let result: Promise<T> | undefined;
  const once = () => {
    result ??= run();
    return result;
  };
  callSafely(() => invoke(once));
  return once();
}

/** Returns the failure of an attempt in one word. Metrics need few different values. */
function typeOfFailure({ kind, cause }: ExchangeFailure): string {
  if (kind !== "connection" && kind !== "exception") return kind;
  try {
    const codes = [fieldOf(cause, "code"), fieldOf(fieldOf(cause, "cause"), "code"), fieldOf(cause, "name")];
    return String(codes.find((code) => typeof code === "string") ?? kind);
  } catch {
    // A getter or a Proxy of the caller's.
    return kind;
  }
}
