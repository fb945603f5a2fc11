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
import { LISTS } from "../list-probes.js";
import { connectionFindings } from "./connection.js";
import { type Finding, problem, TRY_LATER_HINT } from "./finding.js";
import { contradictionFindings, type ListFacts, listFindings, probeList, unreadableFinding } from "./lists.js";
import { DEFAULT_REQUESTS_PER_MINUTE, responseFindings, validationFindings } from "./responses.js";
import { sandboxOptions } from "./sandbox-options.js";
import { type ProbedPage, ServiceProbe } from "./service-probe.js";
import { ObservedTokenStore, tokenFailure, tokenFinding } from "./token.js";
import { warehouseFindings } from "./warehouses.js";

/** What an examination found, and the options of a sandbox that behaves the same. */
export interface Examination {
  findings: Finding[];
  sandboxOptions: SandboxOptions;
}

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
