import type { AuthenticationError } from "../../errors/index.js";
import type { SandboxOptions } from "../../sandbox/options/options.js";
import type { ListFacts } from "./lists.js";
import type { ProbedPage, ServiceProbe } from "./service-probe.js";
import { hasNoExpiry } from "./token.js";
import { seenWarehouses } from "./warehouses.js";

/** Options of a sandbox that behaves like this service, as far as it was seen. */
export function sandboxOptions(
  { pages }: ServiceProbe,
  { lists, allItems }: { lists: readonly ListFacts[]; allItems: ProbedPage | undefined },
  lifetimeMs = 0,
  failure: AuthenticationError | undefined,
): SandboxOptions {
  if (pages.length === 0) return {};
  const durations = pages.map(({ durationMs }) => Math.round(durationMs));
  const count = (name: string) => lists.find(({ list }) => list.name === name)?.first?.page?.totalCount;
  const status = [400, 401, 403].find((known): known is 400 | 401 | 403 => known === failure?.status);
  const warehouses = seenWarehouses(lists);
  return {
    items: allItems?.page?.totalCount ?? count("items"),
    lots: count("lots"),
    ...(warehouses.length > 0 && { warehouses }),
    latencyMs: [Math.min(...durations), Math.max(...durations)],
    ...(hasNoExpiry(lifetimeMs) ? { expiresInForm: "missing" } : { tokenTtlSeconds: Math.ceil(lifetimeMs / 1_000) }),
    ...(status && { tokenFailureStatus: status }),
    ...(failure && { tokenFailureForm: failure.code === "invalid_client" ? "oauth" : "envelope" }),
    modifiedSinceOn: lists
      .filter(({ honoursModifiedSince }) => honoursModifiedSince !== false)
      .map(({ list }) => list.name),
    sortOn: lists.filter(({ honoursSort }) => honoursSort !== false).map(({ list }) => list.name),
  };
}
