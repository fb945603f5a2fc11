import { type ClientOptions, createRateLimiter } from "../../client/index.js";
import { LISTS } from "../../service/lists.js";
import { READS } from "../../service/operations.js";
import {
  AuthenticationError,
  ConfigurationError,
  ConnectionError,
  RateLimitError,
  StocklotError,
  TimeoutError,
} from "../../shared/errors/index.js";
import { describeAddress, tlsFindings, tokenFinding } from "./connection.js";
import { type Finding, ok, problem } from "./finding.js";
import { itemSearchFindings, warehouseFindings } from "./list-parts.js";
import { contradictionFindings, type ListFacts, listFindings, pageNumberFindings, probeList } from "./lists.js";
import { DEFAULT_REQUESTS_PER_MINUTE, dateFindings, responseFindings, validationFindings } from "./responses.js";
import { type ProbedPage, ServiceProbe } from "./service-probe.js";
import { noResponseFindings, problemOf, responseHint, type Unreadable, unreadableFindings } from "./unreadable.js";

/** Examines the service and the set-up with about 15 requests. Writes nothing. */
export async function examine(
  { baseUrl, rateLimit, ...options }: ClientOptions & { baseUrl: string },
  signal?: AbortSignal,
): Promise<Finding[]> {
  const connection: Finding[] = [];
  const rateLimiter = createRateLimiter(rateLimit || undefined);
  const probe = new ServiceProbe({ ...options, baseUrl, rateLimiter }, signal);
  let address = "";
  try {
    address = describeAddress(new URL(baseUrl));
    connection.push(...(await tlsFindings(new URL(baseUrl), signal)));
    const facts = await readLists(probe);
    return [
      ok("address", address),
      ...connection,
      tokenFinding(probe.tokenLifetimeMs),
      ...(await listFindingsOf(probe, facts, baseUrl)),
      ...(probe.pages.some(({ page }) => page)
        ? validationFindings([...probe.warnings], dateFindings(facts.lists))
        : []),
      ...responseFindings(probe, (rateLimit || undefined)?.requests ?? DEFAULT_REQUESTS_PER_MINUTE),
    ];
  } catch (error) {
    if (signal?.aborted || !StocklotError.is(error)) throw error;
    return withFailure(error, connection, address, baseUrl);
  } finally {
    await probe.client.close();
  }
}

/** Sorted as the list of active items, to compare their first pages. */
const ALL_ITEMS = { includeDiscontinued: true, pageSize: 25, sort: "shortID", direction: "DESC" } as const;

/** What the lists respond. */
interface ServiceFacts {
  lists: readonly ListFacts[];
  allItems: ProbedPage | undefined;
}

async function readLists(probe: ServiceProbe): Promise<ServiceFacts> {
  const lists: ListFacts[] = [];
  for (const list of Object.values(LISTS)) lists.push(await probeList(probe, list));
  const allItems = await probe.page(READS.listAllItems.path, (client, options) =>
    client.items.list(ALL_ITEMS, options),
  );
  return { lists, allItems };
}

async function listFindingsOf(
  probe: ServiceProbe,
  { lists, allItems }: ServiceFacts,
  baseUrl: string,
): Promise<Finding[]> {
  const pageNumbers = await pageNumberFindings(probe, lists, allItems);
  const warehouses = await warehouseFindings(probe, lists);
  const search = pageNumbers.length > 0 ? [] : await itemSearchFindings(probe, lists);
  const found = [
    ...lists.flatMap(listFindings),
    ...(allItems?.page ? contradictionFindings("items", READS.listAllItems.path, allItems) : []),
  ];
  return [
    ...noResponseFindings(probe),
    ...unreadableFindings(unreadableLists(lists, allItems, baseUrl)),
    ...pageNumbers,
    // If pages have other numbers, page 1 contradicts itself for this reason.
    ...(pageNumbers.length > 0 ? found.filter(({ verdict }) => verdict !== "problem") : found),
    ...search,
    ...warehouses,
  ];
}

/** The findings if nothing works: a certificate that is not trusted is the cause of a connection that fails. */
function withFailure(
  error: StocklotError,
  connection: readonly Finding[],
  address: string,
  baseUrl: string,
): Finding[] {
  const isContacted =
    connection.some(({ verdict }) => verdict !== "note") ||
    !(error instanceof ConnectionError || error instanceof ConfigurationError);
  const before = [...(isContacted ? [ok("address", address)] : []), ...connection];
  const isExplained = error instanceof ConnectionError && connection.some(({ verdict }) => verdict === "problem");
  return isExplained ? before : [...before, failureFinding(error, address, baseUrl)];
}

/** Nothing works after this. */
function failureFinding(error: StocklotError, address: string, baseUrl: string): Finding {
  if (error instanceof AuthenticationError) {
    const isRefused = ![404, 405].includes(error.status);
    const hint = isRefused ? "Check client ID and client secret." : responseHint(error, baseUrl);
    return problem("token", problemOf(error), hint);
  }
  if (error instanceof RateLimitError) {
    const hint = "Other programs use the same limit. Try again in a minute, and give each program a part of the limit.";
    return problem("rate limit", error.message, hint);
  }
  if (error instanceof ConfigurationError) {
    return problem("connection", error.message, "Correct the setting that is named, and run the doctor again.");
  }
  if (error instanceof ConnectionError) {
    const advice =
      error instanceof TimeoutError
        ? "Check the proxy variables and the network. If the service is slow, increase --timeout."
        : "Check the base URL, the proxy variables and the network.";
    return problem("connection", error.message, `Tried: ${address}. ${advice}`);
  }
  return problem("service", problemOf(error), responseHint(error, baseUrl));
}

/** Where pages are missing, and why. */
function unreadableLists(lists: readonly ListFacts[], allItems: ProbedPage | undefined, baseUrl: string): Unreadable[] {
  const unreadable = lists.flatMap(({ list: { name, path }, first }) =>
    first?.error ? [{ name, path, error: first.error, hint: responseHint(first.error, baseUrl) }] : [],
  );
  const error = allItems?.error;
  const items = lists.find(({ list }) => list.name === "items")?.first;
  // Reported for GET /Item, with the same cause.
  if (!error || (items?.error && items.response.status === allItems.response.status)) return unreadable;
  // The base URL is right if GET /Item works.
  const isMissing = allItems.response.status === 404 && items?.page;
  const hint = isMissing ? "Ask the operators of the service for this endpoint." : responseHint(error, baseUrl);
  return [
    ...unreadable,
    { name: "items", path: READS.listAllItems.path, error, hint: `export items and mirror need it. ${hint}` },
  ];
}
