import type { Dispatcher } from "undici";
import * as z from "zod";
import { environmentVariable, mayReadEnvironment } from "../shared/environment.js";
import { ConfigurationError } from "../shared/errors/index.js";
import { durationMsSchema, functionSchema, objectWithMethodsSchema, valueThat } from "../shared/option.js";
import { isDeno, runtimeName } from "../shared/runtime-name.js";
import { boolean, checkConfiguration, lazy, string, withCheck } from "../shared/schema.js";
import { fieldOf, isObject, isPlainObject } from "../shared/unknown.js";
import { nearestNameHint } from "../shared/unknown-name.js";
import { parseUrl } from "../shared/url.js";
import type { TokenStore } from "./auth/token-store.js";
import { type RateLimitOptions, rateLimitOptionsSchema } from "./limiter/options.js";
import type { RateLimiter } from "./limiter/rate-limiter.js";
import type { Hooks, Logger } from "./observe/events.js";
import { HOOK_NAMES } from "./observe/observer.js";
import { headersSchema } from "./send/request-options.js";
import { type RetryOptions, retryOptionsSchema } from "./send/retry-options.js";
import { isLoopbackHost } from "./transport/agent.js";
import type { FetchLike } from "./transport/fetch.js";

/** The options of an {@link InventoryClient}. */
export interface ClientOptions {
  /**
   * URL of the service, with the version segment: `https://host/api/v1`. A trailing slash is allowed. Plain `http:` is
   * rejected unless the host is loopback or `allowInsecureHttp` is set.
   * @default process.env.STOCKLOT_BASE_URL
   * @example
   * new InventoryClient({ baseUrl: "https://stock.example.com/api/v1" });
   */
  baseUrl?: string | undefined;
  /**
   * A name for the service. Outbox stores and mirror copies belong to one service: if its address may change, give it a
   * name, so that they are recognised at the next one.
   * @default baseUrl
   * @example
   * // The provider moves to another host next month: outbox and copy stay usable.
   * new InventoryClient({ serviceId: "acme-live" });
   */
  serviceId?: string | undefined;
  /**
   * Client ID of the integration user.
   * @default process.env.STOCKLOT_CLIENT_ID
   * @example
   * new InventoryClient({ clientId: "integration-7" });
   */
  clientId?: string | undefined;
  /**
   * Client secret of the integration user. For secrets that are rotated: a function, sync or async, that returns the
   * secret. The function is called for each token request. If it throws or returns no string, calls that need a token
   * reject with a `ConfigurationError`; if it takes longer than `timeoutMs`, with a `TimeoutError`. Secrets are never
   * shown in errors, logs or hooks.
   * @default process.env.STOCKLOT_CLIENT_SECRET
   * @example
   * // The secret is rotated every night.
   * import { readFile } from "node:fs/promises";
   * new InventoryClient({
   *   clientSecret: async () => (await readFile("/run/secrets/stock", "utf8")).trim(),
   * });
   */
  clientSecret?: string | (() => string | Promise<string>) | undefined;
  /**
   * Allows plain `http:` to any host. The secret and the token are then sent unencrypted.
   * @default false
   * @example
   * // A test system in your own network, without TLS.
   * new InventoryClient({
   *   baseUrl: "http://stock-test:8080/api/v1",
   *   allowInsecureHttp: true,
   * });
   */
  allowInsecureHttp?: boolean | undefined;
  /**
   * Headers of every request, token requests included, for example the key of an API gateway. `headers` of a call take
   * precedence. `authorization`, `host` and framing headers such as `content-length` cannot be set. The object is read
   * once, when the client is created. The values are treated as secrets: errors, logs and hooks do not show them,
   * unless they are shorter than 16 characters, or part of the data of a write in `OutcomeUnknownError.request`.
   * @default none
   * @example
   * // The API gateway in front of the service asks for its own key.
   * new InventoryClient({ headers: { "x-api-key": process.env.GATEWAY_KEY ?? "" } });
   */
  headers?: Readonly<Record<string, string>> | undefined;
  /**
   * Time limit of one attempt in ms, from sending to the last byte of the body. `Infinity` for no limit.
   * @default 30_000
   * @example
   * // A web page waits five seconds per attempt; with three retries the call may
   * // still take longer.
   * new InventoryClient({ timeoutMs: 5_000 });
   */
  timeoutMs?: number | undefined;
  /**
   * Time limit of the whole call in ms: waiting for a slot, attempts, back-offs. `Infinity` for no limit.
   * @default Infinity
   * @example
   * // A web page answers within eight seconds, whatever happens.
   * new InventoryClient({ totalTimeoutMs: 8_000 });
   */
  totalTimeoutMs?: number | undefined;
  /**
   * The rate limit; `false` for no limit (a 429 still pauses the client).
   * @default { requests: 100, intervalMs: 60_000, reserved: 10, maxConcurrent: 16 }
   * @example
   * // Your contract allows 300 requests a minute, and another program uses a third
   * // of them.
   * new InventoryClient({ rateLimit: { requests: 200 } });
   */
  rateLimit?: RateLimitOptions | false | undefined;
  /**
   * A limiter that several clients share, created by `createRateLimiter`, `createRedisRateLimiter` or
   * `createBottleneckRateLimiter`. Cannot be combined with `rateLimit`.
   * @default the client's own
   * @example
   * // Two clients with the same credentials share one limit.
   * import { createRateLimiter } from "stocklot";
   * const rateLimiter = createRateLimiter();
   * const [catalog, warehouse] = [
   *   new InventoryClient({ rateLimiter }),
   *   new InventoryClient({ rateLimiter }),
   * ];
   */
  rateLimiter?: RateLimiter | undefined;
  /**
   * When calls are retried; `false` for never, not even after a 429 (the single retry after a 401 remains).
   * With the default, a service of this machine that refuses the first connection is reported within a second.
   * @default { maxRetries: 3, minDelayMs: 500, maxDelayMs: 8_000, maxRateLimitRetries: 5, rateLimitDelayMs: [30_000, 60_000] }
   * @example
   * // A health check reports the first failure instead of hiding it.
   * new InventoryClient({ retry: false });
   */
  retry?: RetryOptions | false | undefined;
  /**
   * What happens if a response does not match the service's document. `"error"`: the call rejects with a
   * `ResponseValidationError`. `"warn"`: the problem is logged, and the data are returned as received. `"off"`:
   * responses are not checked.
   * @default "error"
   * @example
   * // The service has sent a field of another type since last night: go on, and log
   * // what is wrong.
   * new InventoryClient({ responseValidation: "warn", logger: console });
   */
  responseValidation?: "error" | "warn" | "off" | undefined;
  /**
   * Where the access token is stored.
   * @default in memory
   * @example
   * // Four servers share one token, and the next start needs no token request.
   * import { Redis } from "ioredis";
   * import { createRedisTokenStore } from "stocklot/redis";
   * new InventoryClient({
   *   tokenStore: createRedisTokenStore({ redis: new Redis(), key: "stock" }),
   * });
   */
  tokenStore?: TokenStore | undefined;
  /**
   * A `Dispatcher` of undici 7 or 8 that sends the requests, such as an `Agent` or `ProxyAgent`. It stays open when the client
   * closes. Cannot be combined with `fetch`.
   * @default an own agent, where undici works (Node.js, Deno); the proxy that the environment names (`HTTP_PROXY`,
   * `HTTPS_PROXY`, `NO_PROXY`) is used, except for plain `http:` to this machine
   * @example
   * // The service trusts only clients with a certificate.
   * import { Agent } from "undici";
   * new InventoryClient({
   *   dispatcher: new Agent({ connect: { cert: "…", key: "…" } }),
   * });
   */
  dispatcher?: Dispatcher | undefined;
  /**
   * A fetch function that sends the requests instead of undici. `globalThis.fetch` is looked up at each call, so that
   * tests can replace it. A network error that it throws becomes a `ConnectionError`, and a read is retried; any other
   * exception is rethrown, as a copy without secrets, and the call is not retried. A write counts as sent once the function was called: if it
   * fails in any way, the write is an `OutcomeUnknownError`. The function must not repeat a request by itself: that can
   * double a write.
   * @default none; the global `fetch` on runtimes where undici does not work (Bun, Workers, Deno without `--allow-env`)
   * @example
   * // A test without a network.
   * new InventoryClient({
   *   fetch: async () => Response.json({ message: "closed" }, { status: 503 }),
   * });
   */
  fetch?: FetchLike | undefined;
  /**
   * Size limit of a response in bytes, after decompression. `Infinity` for no limit.
   * @default 16_777_216
   * @example
   * // A small container: no response may take more than 2 MB of memory.
   * new InventoryClient({ maxResponseBytes: 2_000_000 });
   */
  maxResponseBytes?: number | undefined;
  /**
   * Receives log lines: `console`, a pino logger, or a similar object. Each method is called with one string.
   * @default none
   * @example
   * new InventoryClient({ logger: console });
   */
  logger?: Logger | undefined;
  /**
   * Callbacks that observe the client, each called with one plain object. If a callback throws or its promise rejects,
   * the error is logged and has no other effect.
   * @default none
   * @example
   * new InventoryClient({
   *   hooks: { response: ({ path, durationMs }) => console.log(path, durationMs) },
   * });
   */
  hooks?: Hooks | undefined;
}

const clientOptionsSchema = /* @__PURE__ */ lazy(() =>
  z
    .strictObject({
      baseUrl: string(),
      serviceId: string().min(1),
      clientId: string(),
      clientSecret: z.union([string(), functionSchema()], { error: "must be a string or a function" }),
      allowInsecureHttp: boolean(),
      headers: headersSchema(),
      timeoutMs: durationMsSchema(),
      totalTimeoutMs: durationMsSchema(),
      rateLimit: z.union([z.literal(false), rateLimitOptionsSchema()], { error: "must be an object or false" }),
      rateLimiter: objectWithMethodsSchema(["acquire", "pause", "snapshot"], "must be created by createRateLimiter"),
      retry: retryOptionsSchema(),
      responseValidation: z.enum(["error", "warn", "off"]),
      tokenStore: objectWithMethodsSchema(["get", "set", "delete"], "must have the methods get, set and delete"),
      dispatcher: withCheck(
        objectWithMethodsSchema(["dispatch"], "must be an undici Dispatcher"),
        describeOldDispatcher,
      ),
      fetch: functionSchema(),
      maxResponseBytes: valueThat((bytes) => typeof bytes === "number" && bytes > 0, "must be a number greater than 0"),
      logger: objectWithMethodsSchema(
        ["debug", "info", "warn", "error"],
        "must have the methods debug, info, warn and error",
      ),
      hooks: withCheck(z.custom<object>(isObject, "must be an object"), describeHooksProblem),
    })
    .partial()
    .superRefine((options, { addIssue }) => {
      for (const names of MUTUALLY_EXCLUSIVE_OPTIONS) {
        if (names.every((name) => options[name] !== undefined)) addIssue(`${names.join(" and ")} cannot be combined`);
      }
    }),
);

/** Dispatchers of undici 5 and 6 have this property, and expect another kind of handler. */
const describeOldDispatcher = (dispatcher: unknown) =>
  "interceptors" in Object(dispatcher) ? "is of undici 6 or earlier. Use one of undici 7 or 8" : undefined;

const MUTUALLY_EXCLUSIVE_OPTIONS = [
  ["fetch", "dispatcher"],
  ["rateLimit", "rateLimiter"],
] as const;

/** An instance of a class may have other members, too. */
function describeHooksProblem(hooks: object): string | undefined {
  const isLiteral = isPlainObject(hooks);
  const unknown = isLiteral ? Object.keys(hooks).find((name) => !HOOK_NAMES.includes(name)) : undefined;
  if (unknown !== undefined) return `unknown hook ${unknown}${nearestNameHint(unknown, HOOK_NAMES)}`;
  const wrong = HOOK_NAMES.find((name) => !["function", "undefined"].includes(typeof fieldOf(hooks, name)));
  return wrong === undefined ? undefined : `${wrong} must be a function`;
}

const OPTIONS_NAME = "client options";

const MIN_NODE_VERSION = [20, 19] as const;

/**
 * Throws a `ConfigurationError` if the version of Node.js is too old. The version that other runtimes report is only
 * one that they imitate.
 */
function checkRuntime(): void {
  const name = runtimeName();
  const [, node] = /^Node\.js v(.+)/.exec(name) ?? [];
  if (node === undefined) return;
  const [major = 0, minor = 0] = node.split(".").map(Number);
  const [oldestMajor, oldestMinor] = MIN_NODE_VERSION;
  if (major > oldestMajor || (major === oldestMajor && minor >= oldestMinor)) return;
  throw new ConfigurationError(
    `stocklot requires Node.js ${MIN_NODE_VERSION.join(".")} or later, but this is ${node}. Update Node.js.`,
  );
}

const ENVIRONMENT_VARIABLES = {
  baseUrl: "STOCKLOT_BASE_URL",
  clientId: "STOCKLOT_CLIENT_ID",
  clientSecret: "STOCKLOT_CLIENT_SECRET",
};

/**
 * Returns the options of a client, each read once, and its address and credentials from the options or the environment. Throws a
 * `ConfigurationError` that names what is missing or wrong.
 */
export function readClientOptions(given: ClientOptions) {
  const options = checkConfiguration(OPTIONS_NAME, clientOptionsSchema(), given);
  checkRuntime();
  const missing: string[] = [];
  const readSetting = <Value>(name: keyof typeof ENVIRONMENT_VARIABLES, given: Value | undefined) => {
    const variable = ENVIRONMENT_VARIABLES[name];
    // A secret that was mounted as a file often ends with a line break.
    const value = given ?? environmentVariable(variable)?.trim();
    if (!value) missing.push(`${name} is required (or the environment variable ${variable}${readProblem(variable)})`);
    return value ?? "";
  };
  const address = readSetting("baseUrl", options.baseUrl);
  const clientId = readSetting("clientId", options.clientId);
  const clientSecret = readSetting("clientSecret", options.clientSecret);
  const problem = missing.join("; ") || describeBaseUrlProblem(address, options.allowInsecureHttp === true);
  if (problem) throw new ConfigurationError(`${OPTIONS_NAME}: ${problem}`);
  return { options, baseUrl: new URL(address), clientId, clientSecret };
}

/** Why a variable of the environment cannot be read here, if it cannot. */
function readProblem(variable: string): string {
  if (mayReadEnvironment(variable)) return "";
  return isDeno()
    ? `, which this program may not read: run it with --allow-env=${variable}`
    : ", but this runtime has no environment variables";
}

function describeBaseUrlProblem(address: string, allowInsecureHttp: boolean): string | undefined {
  const url = parseUrl(address);
  if (!url) return "baseUrl must be a URL, such as https://host/api/v1";
  const { protocol, username, password, search, hash, hostname } = url;
  if (protocol !== "https:" && protocol !== "http:") return `baseUrl must begin with http: or https:, not ${protocol}`;
  if (username || password) return "baseUrl must not contain credentials";
  if (search || hash) return "baseUrl must not have a query or a fragment";
  return protocol === "http:" && !allowInsecureHttp && !isLoopbackHost(hostname)
    ? `baseUrl must begin with https:, since http: sends the secret unencrypted. To allow http:, set allowInsecureHttp`
    : undefined;
}
