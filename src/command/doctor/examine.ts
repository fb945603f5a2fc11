import type { StoredToken, TokenStore } from "../../auth/token-store.js";
import { InventoryClient } from "../../client.js";
import { isStocklotError } from "../../errors/any-error.js";
import {
  AuthenticationError,
  ConfigurationError,
  ConnectionError,
  RateLimitError,
  ServerError,
  TimeoutError,
} from "../../errors/index.js";
import { createRateLimiter } from "../../limiter/create-rate-limiter.js";
import type { ClientOptions } from "../../options.js";
import type { SandboxOptions } from "../../sandbox/options/options.js";
import { LISTS, PAGE_HEADERS } from "../list-probes.js";
import { connectionFindings } from "./connection.js";
import { type Finding, note, ok, problem, TRY_LATER_HINT } from "./finding.js";
import { type ListFacts, listFindings, probeList } from "./lists.js";
import { type ProbedPage, ServiceProbe } from "./service-probe.js";

/** What an examination found, and the options of a sandbox that behaves the same. */
export interface Examination {
  findings: Finding[];
  sandboxOptions: SandboxOptions;
}

const DAY_MS = 86_400_000;
const LARGE_SKEW_MS = 60_000;
const SLOW_MS = 2_000;
const SHORT_TOKEN_MS = 60_000;
const RATE_LIMIT_HEADER = /ratelimit|rate-limit|retry-after/;
const SLOW_HINT = "If calls time out, increase the option timeoutMs (--timeout of this command; default: 30 s).";
/** Nobody's, so that no failed attempt is counted against a real client. */
const UNKNOWN_CREDENTIALS = { clientId: "stocklot-doctor", clientSecret: "not-a-secret" };

/** Examines the service and the set-up with about ten requests. Writes nothing. */
export async function examine(
  { baseUrl, rateLimit, ...options }: ClientOptions & { baseUrl: string },
  signal?: AbortSignal,
): Promise<Examination> {
  const findings: Finding[] = [];
  const rateLimiter = createRateLimiter(rateLimit || undefined);
  const tokens = new ObservedTokenStore();
  const invalidFields = new Set<string>();
  const client = new InventoryClient({
    ...options,
    baseUrl,
    rateLimiter,
    tokenStore: tokens,
    responseValidation: "warn",
    // What fails is a finding. The request for a token would be retried otherwise.
    retry: false,
    logger: {
      debug() {},
      info() {},
      error() {},
      warn: (message) => void invalidFields.add(message),
    },
  });
  const probe = new ServiceProbe(client, signal);
  try {
    findings.push(...(await connectionFindings(new URL(baseUrl), signal)));
    const lists: ListFacts[] = [];
    for (const list of LISTS) lists.push(await probeList(probe, list));
    findings.push(
      tokenFinding(tokens.lifetimeMs),
      ...lists.flatMap(listFindings),
      ...(await discontinuedFindings(probe)),
      ...(await warehouseFindings(probe, lists)),
      ...validationFindings([...invalidFields]),
      ...responseFindings(probe),
    );
    const failure = await tokenFailure({ ...options, baseUrl, rateLimiter }, signal);
    return { findings, sandboxOptions: sandboxOptions(probe, lists, tokens.lifetimeMs, failure) };
  } catch (error) {
    if (signal?.aborted || !isStocklotError(error)) throw error;
    return { findings: [...findings, failureFinding(error)], sandboxOptions: {} };
  } finally {
    await client.close();
  }
}

/** Keeps no token, but notes how long the last one is valid. */
class ObservedTokenStore implements TokenStore {
  lifetimeMs: number | undefined;

  async get(): Promise<undefined> {}
  async set({ expiresAt }: StoredToken): Promise<void> {
    this.lifetimeMs = expiresAt - Date.now();
  }
  async delete(): Promise<void> {}
}

/** Nothing works after this. */
function failureFinding(error: Error): Finding {
  if (error instanceof AuthenticationError) {
    const hint = "Check client ID and client secret, and that the base URL ends with the version segment.";
    return problem("token", error.message, hint);
  }
  if (error instanceof RateLimitError) {
    const hint = "Other programs use the same limit. Try again in a minute, and give each program a part of the limit.";
    return problem("rate limit", error.message, hint);
  }
  if (error instanceof ConfigurationError) {
    return problem("connection", error.message, "Correct the setting that is named, and run the doctor again.");
  }
  if (error instanceof TimeoutError) {
    const hint = "Check the proxy variables and the network. If the service is slow, increase --timeout.";
    return problem("connection", error.message, hint);
  }
  if (error instanceof ServerError) return problem("service", error.message, TRY_LATER_HINT);
  const hint = "Check the base URL, the proxy variables and the network; docs/deployment.md describes certificates.";
  return problem(error instanceof ConnectionError ? "connection" : "service", error.message, hint);
}

function tokenFinding(lifetimeMs = 0): Finding {
  if (hasNoExpiry(lifetimeMs)) {
    const hint = "It is used until the service refuses it, for a day at most.";
    return note("token", "granted, without a usable expires_in", hint);
  }
  const summary = `granted, valid for ${Math.ceil(lifetimeMs / 1_000)} s`;
  if (lifetimeMs < SHORT_TOKEN_MS) return note("token", summary, "Each new token takes a slot of the rate limit.");
  return ok("token", summary);
}

/** Without a usable `expires_in` the client uses a token for a day. */
const hasNoExpiry = (lifetimeMs: number) => lifetimeMs > 0.99 * DAY_MS;

/** Such a status proves nothing about the endpoint. */
const isTemporary = (status: number) => status >= 500;

async function discontinuedFindings(probe: ServiceProbe): Promise<Finding[]> {
  const params = { includeDiscontinued: true, pageSize: 1 };
  const { page, response } = await probe.page((client, options) => client.items.list(params, options));
  if (page || isTemporary(response.status)) return [];
  return [note("items", `GET /Item/All: ${response.status}`, "includeDiscontinued cannot be used.")];
}

async function warehouseFindings(probe: ServiceProbe, lists: readonly ListFacts[]): Promise<Finding[]> {
  const lots = lists.find(({ list }) => list.name === "lots")?.first.page?.value ?? [];
  const warehouses = new Set(lots.map((lot): unknown => Reflect.get(lot, "wID")));
  const [wid] = [...warehouses].filter((wID) => typeof wID === "number");
  if (wid === undefined) return [];
  const found = ok("warehouses", `on the first page of lots: ${[...warehouses].join(", ")}`);
  const { page, response } = await probe.page((client, options) =>
    client.inventory.listLots({ wid, pageSize: 1 }, options),
  );
  if (page || isTemporary(response.status)) return [found];
  return [
    found,
    note("warehouses", `GET /Inventory/${wid}: ${response.status}`, "Lists of one warehouse cannot be read."),
  ];
}

function validationFindings(warnings: readonly string[]): Finding[] {
  if (warnings.length === 0) return [ok("responses", "the pages read are as documented")];
  const hint = 'Calls that read these records fail, unless the client has responseValidation: "warn".';
  return warnings.map((warning) => problem("responses", warning, hint));
}

function responseFindings({ pages }: ServiceProbe): Finding[] {
  const durations = pages.map(({ response }) => response.durationMs).sort((a, b) => a - b);
  const median = durations[Math.floor(durations.length / 2)] ?? 0;
  const latency = `median ${Math.round(median)} ms, slowest ${Math.round(durations.at(-1) ?? 0)} ms`;
  const headers = pages.map(({ response }) => response.headers);
  const missing = PAGE_HEADERS.filter((name) =>
    pages.some(({ page, response }) => page && response.headers[name] === undefined),
  );
  const limits = [...new Set(headers.flatMap(Object.keys))].filter((name) => RATE_LIMIT_HEADER.test(name));
  return [
    median < SLOW_MS ? ok("latency", latency) : note("latency", latency, SLOW_HINT),
    clockFinding(pages),
    missing.length === 0
      ? ok("headers", "the documented X- headers are present")
      : note("headers", `missing: ${missing.join(", ")}`, "The client does not need them; a proxy may remove them."),
    ok(
      "rate limit",
      limits.length > 0 ? `reported in ${limits.join(", ")}` : "the service reports none in its responses",
    ),
  ];
}

/** The smallest difference is the most exact, since a response takes time. */
function clockFinding(pages: readonly ProbedPage[]): Finding {
  const skews = pages.flatMap(({ response, receivedAt }) => {
    const served = Date.parse(response.headers.date ?? "");
    return Number.isNaN(served) ? [] : [served - receivedAt];
  });
  const [skewMs] = skews.sort((a, b) => Math.abs(a) - Math.abs(b));
  if (skewMs === undefined) {
    return note(
      "clock",
      "responses have no Date header",
      "findReceipt cannot compare times, so it is often ambiguous.",
    );
  }
  const seconds = Math.abs(Math.round(skewMs / 1_000));
  const summary = `the service's clock is ${seconds} s ${skewMs < 0 ? "behind" : "ahead of"} this machine's`;
  if (Math.abs(skewMs) < LARGE_SKEW_MS) return ok("clock", summary);
  return note("clock", summary, "Set the clock of this machine (NTP). The client compensates for the difference.");
}

/** How the service refuses unknown credentials. */
async function tokenFailure(options: ClientOptions, signal?: AbortSignal): Promise<AuthenticationError | undefined> {
  const client = new InventoryClient({ ...options, ...UNKNOWN_CREDENTIALS });
  try {
    await client.items.list({ pageSize: 1 }, { signal, retry: false }).page();
  } catch (error) {
    if (error instanceof AuthenticationError) return error;
    if (!isStocklotError(error)) throw error;
  } finally {
    await client.close();
  }
  return undefined;
}

/** Options of a sandbox that behaves like this service, as far as it was seen. */
function sandboxOptions(
  { pages }: ServiceProbe,
  lists: readonly ListFacts[],
  lifetimeMs = 0,
  failure: AuthenticationError | undefined,
): SandboxOptions {
  const durations = pages.map(({ response }) => Math.round(response.durationMs));
  const count = (name: string) => lists.find(({ list }) => list.name === name)?.first.page?.totalCount;
  const status = [400, 401, 403].find((known): known is 400 | 401 | 403 => known === failure?.status);
  return {
    items: count("items"),
    lots: count("lots"),
    latencyMs: [Math.min(...durations), Math.max(...durations)],
    ...(hasNoExpiry(lifetimeMs) ? { expiresInForm: "missing" } : { tokenTtlSeconds: Math.ceil(lifetimeMs / 1_000) }),
    ...(status && { tokenFailureStatus: status }),
    ...(failure && { tokenFailureForm: failure.code === "invalid_client" ? "oauth" : "envelope" }),
    modifiedSinceOn: lists
      .filter(({ honoursModifiedSince }) => honoursModifiedSince !== false)
      .map(({ list }) => list.name),
  };
}
