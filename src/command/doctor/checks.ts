import { modifiedSinceProbe, sortProbe } from "../../bulk/probes.js";
import { isLoopbackHost, isSorted, requestsForList } from "../../client/for-add-ons.js";
import { MAX_PAGE_SIZE } from "../../service/lists.js";
import {
  AuthenticationError,
  ConfigurationError,
  ConnectionError,
  PermissionError,
  RateLimitError,
  ResponseValidationError,
  type StocklotError,
} from "../../shared/errors/index.js";
import { DAY_MS } from "../../shared/time/clock.js";
import { fieldOf } from "../../shared/unknown.js";
import { plural } from "../terminal.js";
import type { Probe, ReadPage } from "./probe.js";

export interface Finding {
  aspect: string;
  /**
   * - `ok`: as documented
   * - `note`: differs from the document, or cannot be determined; programs work
   * - `problem`: something will not work
   */
  verdict: "ok" | "note" | "problem";
  summary: string;
  /** Advice, or the consequence of the finding. */
  hint?: string | undefined;
}

const finding =
  (verdict: Finding["verdict"]) =>
  (aspect: string, summary: string, hint?: string): Finding => ({ aspect, verdict, summary, hint });
const [ok, note, problem] = [finding("ok"), finding("note"), finding("problem")];

/** The checks, each independent of the others. A check of what could not be read finds nothing. */
export const CHECKS: readonly ((probe: Probe) => Finding[])[] = [
  checkAddress,
  checkToken,
  checkLists,
  checkAllItems,
  checkModifiedSince,
  checkSort,
  checkPageCap,
  checkClock,
  checkLatency,
  checkWarehouses,
];

/** Checks the host and the proxy, and whether there is a connection at all. */
function checkAddress({ baseUrl, failure }: Probe): Finding[] {
  const variable = proxyVariableFor(baseUrl);
  const address = variable ? `${baseUrl.host} through the proxy of ${variable}` : `${baseUrl.host}, without a proxy`;
  if (failure instanceof ConfigurationError) {
    return [problem("address", failure.message, "Correct the setting that is named, and run the doctor again.")];
  }
  if (failure instanceof ConnectionError) {
    const advice =
      "Check the base URL, the proxy variables and the network. If the service is slow, increase --timeout.";
    return [problem("address", failure.message, `Tried: ${address}. ${advice}`)];
  }
  if (baseUrl.protocol === "http:" && !isLoopbackHost(baseUrl.hostname)) {
    return [note("address", `${address}: plain http, the secret and the token are not encrypted`, "Use https:.")];
  }
  return [ok("address", address)];
}

/** The variable of the environment that names a proxy for the service, unless NO_PROXY names the service. */
function proxyVariableFor({ protocol, hostname, port }: URL): string | undefined {
  if (protocol === "http:" && isLoopbackHost(hostname)) return undefined;
  const excluded = (process.env.no_proxy ?? process.env.NO_PROXY ?? "").split(/[,\s]+/).some((entry) => {
    const [, host = entry, ofPort] = /^(.+):(\d+)$/.exec(entry) ?? [];
    if (ofPort !== undefined && ofPort !== (port || (protocol === "https:" ? "443" : "80"))) return false;
    return host === "*" || (host !== "" && `.${hostname}`.endsWith(`.${host.replace(/^\*?\./, "")}`));
  });
  if (excluded) return undefined;
  const names = ["https_proxy", "HTTPS_PROXY", "http_proxy", "HTTP_PROXY"];
  return names.slice(protocol === "https:" ? 0 : 2).find((name) => process.env[name]);
}

function checkToken({ failure, tokenLifetimeMs }: Probe): Finding[] {
  if (failure && !(failure instanceof ConnectionError || failure instanceof ConfigurationError))
    return [problem(failure instanceof RateLimitError ? "rate limit" : "token", failure.message, adviceAbout(failure))];
  if (tokenLifetimeMs === undefined) return [];
  // If there is no usable `expires_in`, the client uses a token for a day.
  if (tokenLifetimeMs > 0.99 * DAY_MS) {
    const hint = "It is used until the service refuses it, for a day at most.";
    return [note("token", "granted, without a usable expires_in", hint)];
  }
  const summary = `granted, valid for ${Math.ceil(tokenLifetimeMs / 1_000)} s`;
  if (tokenLifetimeMs > 60_000) return [ok("token", summary)];
  return [note("token", summary, "Each new token takes a slot of the rate limit.")];
}

function checkLists({ lists }: Probe): Finding[] {
  return lists.map(({ list: { name }, first }) => pageFinding(name, first));
}

function checkAllItems({ allItems }: Probe): Finding[] {
  return allItems ? [pageFinding("all items", allItems, "export items and mirror need it. ")] : [];
}

function pageFinding(name: string, { path, page, error }: ReadPage, use = ""): Finding {
  if (page && page.value.length === 0 && (page.hasMore || page.totalCount > 0))
    return problem(
      name,
      `GET ${path}: the first page is empty, but the service reports more pages`,
      use + adviceAbout(error),
    );
  if (page) return ok(name, `GET ${path}: ${plural(page.totalCount, "record")}`);
  return problem(name, error ? error.message : `GET ${path}: no response`, use + adviceAbout(error));
}

function checkModifiedSince({ lists }: Probe): Finding[] {
  return lists.flatMap(({ list: { name }, first, since }) => {
    if (!since || first.page?.totalCount === 0) return [];
    const support = modifiedSinceProbe.conclude(since.future, since.ever);
    if (support === "honoured") return [ok("modifiedSince", `${name}: honoured`)];
    const { message } = since.future.error ?? since.ever?.error ?? {};
    const summary = message ?? `${name}: ${support === "always-empty" ? "an empty list for every date" : "ignored"}`;
    return [note("modifiedSince", summary, "export --since exports everything, and each run of the mirror reads it.")];
  });
}

function checkSort(probe: Probe): Finding[] {
  const findings = probe.lists.flatMap(({ list, first: { page } }) => {
    if (!page || page.value.length < 2) return [];
    if (sortProbe.isHonoured(page, list)) return [ok("sort", `${list.name}: honoured`)];
    const hint =
      "Records that are removed while the list is read can hide others, and one item takes the whole list: query a mirror.";
    return [note("sort", `${list.name}: sort=${list.stableSort} is ignored`, hint)];
  });
  return [...findings, ...checkNotListed(probe)];
}

/** Reports how many requests it takes to learn that an item is not listed: a few pages, or the whole list. */
function checkNotListed({ lists, unsortedLevels }: Probe): Finding[] {
  const found = lists.find(({ list }) => list.name === "stockLevels");
  const sorted = found?.first.page;
  const own = unsortedLevels?.page;
  if (!found || !sorted || !own || sorted.totalCount === 0) return [];
  const pages = Math.ceil(sorted.totalCount / MAX_PAGE_SIZE);
  const requests = requestsForList(sorted.totalCount);
  const whole = `"not listed" costs ${plural(requests, "request")}, the whole list`;
  const hint = `For many callers, set maxAgeMs or ifUnsorted: "error", or query a mirror.`;
  if (!sortProbe.isHonoured(sorted, found.list) && pages > 1) return [note("sort", whole, hint)];
  if (pages <= 3) return [ok("sort", `"not listed" costs ${plural(pages + 1, "request")} at most`)];
  const partNos = own.value.map((level) => Number(fieldOf(level, "partNo")));
  const isOwnOrderSorted = isSorted(partNos, "ASC") !== false;
  if (!isOwnOrderSorted) return [ok("sort", `"not listed" costs about 8 requests, later ones 3`)];
  return [note("sort", `${whole}, if the service's own order is that of part numbers, as its first page is`, hint)];
}

function checkPageCap({ lists }: Probe): Finding[] {
  const pages = lists.flatMap(({ list: { name }, first: { page } }) => (page ? [{ name, size: page.pageSize }] : []));
  if (pages.length === 0) return [];
  const caps = pages.filter(({ size }) => size > 0 && size < MAX_PAGE_SIZE);
  if (caps.length === 0) return [ok("page size", "up to 250 records per page")];
  const summary = caps.map(({ name, size }) => `${size} records per page of ${name}`).join(", ");
  return [note("page size", summary, "Lists take more requests than with 250.")];
}

const LARGE_SKEW_MS = 60_000;

const HEADER_RESOLUTION_MS = 1_000;

/** The smallest difference is the most exact, since a response takes time. */
function checkClock({ skewsMs, lists }: Probe): Finding[] {
  const [skewMs] = [...skewsMs].sort((one, next) => Math.abs(one) - Math.abs(next));
  if (skewMs === undefined && lists.length === 0) return [];
  if (skewMs === undefined)
    return [note("clock", "responses have no Date header", "findReceipt cannot compare times.")];
  const seconds = Math.abs(Math.round(skewMs / 1_000));
  // The header has seconds: less than one is no difference.
  if (Math.abs(skewMs) < HEADER_RESOLUTION_MS) return [ok("clock", "the service's clock and this machine's agree")];
  const summary = `the service's clock is ${seconds} s ${skewMs < 0 ? "behind" : "ahead of"} this machine's`;
  if (Math.abs(skewMs) < LARGE_SKEW_MS) return [ok("clock", summary)];
  return [note("clock", summary, "Set the clock of this machine (NTP). The client compensates for the difference.")];
}

const SLOW_MS = 2_000;

function checkLatency({ responses }: Probe): Finding[] {
  const sorted = [...responses].sort((one, next) => one.durationMs - next.durationMs);
  const [median, slowest] = [sorted[Math.floor(sorted.length / 2)], sorted.at(-1)];
  if (!median || !slowest) return [];
  const summary = `median ${Math.round(median.durationMs)} ms, slowest ${Math.round(slowest.durationMs)} ms (${slowest.method} ${slowest.path})`;
  if (slowest.durationMs < SLOW_MS) return [ok("latency", summary)];
  const hint = "If calls time out, increase timeoutMs (--timeout of this command; default: 30 s).";
  return [note("latency", summary, hint)];
}

function checkWarehouses({ warehouses }: Probe): Finding[] {
  if (warehouses.length === 0) return [];
  const refused = warehouses.filter(({ lots }) => lots.error);
  const readable = warehouses.filter(({ lots }) => !lots.error);
  const ids = (some: Probe["warehouses"]) => some.map(({ wID }) => wID).join(", ");
  const found = ok("warehouses", `can be read: ${ids(readable)}`);
  const error = refused[0]?.lots.error;
  if (!error) return [found];
  const hint = "--wid and mirror --warehouses cannot read them. Ask the operators of the service for the warehouses.";
  if (readable.length > 0)
    return [found, note("warehouses", `cannot be read: ${ids(refused)}: ${error.message}`, hint)];
  return [problem("warehouses", `none can be read (${ids(refused)}): ${error.message}`, hint)];
}

/** Returns advice about a response that cannot be used, in addition to the advice in its message. */
function adviceAbout(error: StocklotError | undefined): string {
  if (error instanceof RateLimitError)
    return "Other programs use the same limit. Try again in a minute, and give each program a part of the limit.";
  if (error instanceof AuthenticationError) return "Check the base URL, the client ID and the client secret.";
  if (error instanceof PermissionError)
    return "Ask the operators of the service for the permission, or for the warehouses.";
  if (error instanceof ResponseValidationError)
    return "Check the base URL: this may be another service. If it is the right one, use --response-validation warn.";
  return "Check the base URL. If it is right, try again later, or ask the operators of the service.";
}
