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
import type { SandboxOptions, SandboxWarehouse } from "../../sandbox/options/options.js";
import { LISTS, PAGE_HEADERS } from "../list-probes.js";
import { connectionFindings } from "./connection.js";
import { type Finding, note, ok, problem, TRY_LATER_HINT } from "./finding.js";
import { contradictionFindings, type ListFacts, listFindings, probeList, unreadableFinding } from "./lists.js";
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
    const allItems = await probe.page((opened, pageOptions) =>
      opened.items.list({ includeDiscontinued: true, pageSize: 1 }, pageOptions),
    );
    findings.push(
      tokenFinding(tokens.lifetimeMs),
      ...lists.flatMap(listFindings),
      ...allItemsFindings(allItems, lists),
      ...(await warehouseFindings(probe, lists)),
      ...validationFindings([...invalidFields]),
      ...responseFindings(probe, (rateLimit || undefined)?.requests ?? DEFAULT_REQUESTS_PER_MINUTE),
    );
    const failure = await tokenFailure({ ...options, baseUrl, rateLimiter }, signal);
    return { findings, sandboxOptions: sandboxOptions(probe, lists, allItems, tokens.lifetimeMs, failure) };
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

function allItemsFindings(allItems: ProbedPage, lists: readonly ListFacts[]): Finding[] {
  const path = "/Item/All";
  if (allItems.page) return contradictionFindings("items", path, allItems);
  const activeItems = lists.find(({ list }) => list.name === "items")?.first;
  // Reported for GET /Item, with the same cause.
  if (activeItems && !activeItems.page && activeItems.response.status === allItems.response.status) return [];
  const { summary, hint } = unreadableFinding("items", path, allItems);
  // The base URL is right if GET /Item works.
  const advice =
    allItems.response.status === 404 && activeItems?.page
      ? "Ask the operators of the service for this endpoint."
      : hint;
  return [problem("items", summary, `export items and mirror need it. ${advice}`)];
}

/** Warehouses on the first page of lots, in the order of their IDs. */
function seenWarehouses(lists: readonly ListFacts[]): SandboxWarehouse[] {
  const lots = lists.find(({ list }) => list.name === "lots")?.first.page?.value ?? [];
  const names = new Map<number, string>();
  for (const lot of lots) {
    const wID: unknown = Reflect.get(lot, "wID");
    const name: unknown = Reflect.get(lot, "warehouse");
    if (typeof wID !== "number" || !Number.isSafeInteger(wID)) continue;
    names.set(wID, typeof name === "string" && name ? name : `Warehouse ${wID}`);
  }
  return [...names].map(([wID, name]) => ({ wID, name })).sort((one, next) => one.wID - next.wID);
}

/** Requests for a warehouse, if the service refuses the others. */
const MAX_WAREHOUSE_PROBES = 5;

async function warehouseFindings(probe: ServiceProbe, lists: readonly ListFacts[]): Promise<Finding[]> {
  const warehouses = seenWarehouses(lists).map(({ wID }) => wID);
  if (warehouses.length === 0) return [];
  const found = ok("warehouses", `on the first page of lots: ${warehouses.join(", ")}`);
  const refused: string[] = [];
  const notesOfRefused = () =>
    refused.map((summary) => note("warehouses", summary, "--wid and mirror --warehouses cannot read this warehouse."));
  for (const wid of warehouses.slice(0, MAX_WAREHOUSE_PROBES)) {
    const { page, response } = await probe.page((client, options) =>
      client.inventory.listLots({ wid, pageSize: 1 }, options),
    );
    if (page || isTemporary(response.status)) return [found, ...notesOfRefused()];
    refused.push(`GET /Inventory/${wid}: ${response.status}`);
  }
  const which =
    refused.length < warehouses.length ? `the first ${refused.length} warehouses are` : "every warehouse is";
  const hint = "--wid and mirror --warehouses cannot be used. Ask the operators of the service for the warehouses.";
  return [found, problem("warehouses", `${which} refused: ${refused.join(", ")}`, hint)];
}

function validationFindings(warnings: readonly string[]): Finding[] {
  if (warnings.length === 0) return [ok("responses", "the pages read are as documented")];
  const hint = 'Calls that read these records fail, unless the client has responseValidation: "warn".';
  return warnings.map((warning) => problem("responses", warning, hint));
}

/** Requests per minute that the client allows itself without `--rate-limit`. */
const DEFAULT_REQUESTS_PER_MINUTE = 100;

function responseFindings({ pages }: ServiceProbe, requestsPerMinute: number): Finding[] {
  const durations = pages.map(({ response }) => response.durationMs).sort((a, b) => a - b);
  const median = durations[Math.floor(durations.length / 2)] ?? 0;
  const latency = `median ${Math.round(median)} ms, slowest ${Math.round(durations.at(-1) ?? 0)} ms`;
  const headers = pages.map(({ response }) => response.headers);
  const missing = PAGE_HEADERS.filter((name) =>
    pages.some(({ page, response }) => page && response.headers[name] === undefined),
  );
  return [
    median < SLOW_MS ? ok("latency", latency) : note("latency", latency, SLOW_HINT),
    clockFinding(pages),
    missing.length === 0
      ? ok("headers", "the documented X- headers are present")
      : note("headers", `missing: ${missing.join(", ")}`, "The client does not need them; a proxy may remove them."),
    ...contentTypeFindings(pages),
    rateLimitFinding(headers, requestsPerMinute),
  ];
}

function contentTypeFindings(pages: readonly ProbedPage[]): Finding[] {
  const other = pages.find(
    ({ page, response }) => page && !/^application\/([^;]+\+)?json\b/i.test(response.headers["content-type"] ?? ""),
  );
  if (!other) return [];
  const { method, path, headers } = other.response;
  const summary = `${method} ${path}: Content-Type is "${headers["content-type"] ?? ""}", not JSON`;
  return [note("headers", summary, "The client does not need it; a proxy may change it.")];
}

function rateLimitFinding(headers: readonly Record<string, string>[], requestsPerMinute: number): Finding {
  const values = headers.flatMap(Object.entries).filter(([name]) => RATE_LIMIT_HEADER.test(name));
  if (values.length === 0) return ok("rate limit", "the service reports none in its responses");
  const [smallest] = values
    .filter(([name, value]) => /rate-?limit-limit$/.test(name) && /^\d+$/.test(value))
    .map(([name, value]) => ({ name, limit: Number(value) }))
    .sort((one, next) => one.limit - next.limit);
  if (smallest && smallest.limit > 0 && smallest.limit < requestsPerMinute) {
    const summary = `${smallest.name} is ${smallest.limit}, the limit of this client is ${requestsPerMinute} per minute`;
    return note("rate limit", summary, `If the service counts per minute, set --rate-limit ${smallest.limit}.`);
  }
  return ok("rate limit", `reported in ${[...new Set(values.map(([name]) => name))].join(", ")}`);
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
  allItems: ProbedPage,
  lifetimeMs = 0,
  failure: AuthenticationError | undefined,
): SandboxOptions {
  const durations = pages.map(({ response }) => Math.round(response.durationMs));
  const count = (name: string) => lists.find(({ list }) => list.name === name)?.first.page?.totalCount;
  const status = [400, 401, 403].find((known): known is 400 | 401 | 403 => known === failure?.status);
  const warehouses = seenWarehouses(lists);
  return {
    items: allItems.page?.totalCount ?? count("items"),
    lots: count("lots"),
    ...(warehouses.length > 0 && { warehouses }),
    latencyMs: [Math.min(...durations), Math.max(...durations)],
    ...(hasNoExpiry(lifetimeMs) ? { expiresInForm: "missing" } : { tokenTtlSeconds: Math.ceil(lifetimeMs / 1_000) }),
    ...(status && { tokenFailureStatus: status }),
    ...(failure && { tokenFailureForm: failure.code === "invalid_client" ? "oauth" : "envelope" }),
    modifiedSinceOn: lists
      .filter(({ honoursModifiedSince }) => honoursModifiedSince !== false)
      .map(({ list }) => list.name),
  };
}
