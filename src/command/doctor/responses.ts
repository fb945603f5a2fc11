import { dateHeaderMs } from "../../client/for-add-ons.js";
import { dateInputSchema } from "../../service/date.js";
import { type DocumentedList, PAGE_HEADERS } from "../../service/lists.js";
import { fieldOf } from "../../shared/unknown.js";
import { plural } from "../terminal.js";
import { type Finding, note, ok, problem } from "./finding.js";
import type { ProbedPage, ServiceProbe } from "./service-probe.js";

const LARGE_SKEW_MS = 60_000;
const SLOW_MS = 2_000;
const RATE_LIMIT_HEADER = /ratelimit|rate-limit|retry-after/;
const SLOW_HINT = "If calls time out, increase the option timeoutMs (--timeout of this command; default: 30 s).";

/** @param others what else is wrong with the records */
export function validationFindings(warnings: readonly string[], others: readonly Finding[]): Finding[] {
  if (warnings.length + others.length === 0) return [ok("responses", "the pages read are as documented")];
  const hint =
    'Calls that read these records fail, unless the client has responseValidation: "warn" (--response-validation warn of export and mirror).';
  return [...warnings.map((warning) => problem("responses", warning, hint)), ...others];
}

/** Requests per minute that the client allows itself without `--rate-limit`. */
export const DEFAULT_REQUESTS_PER_MINUTE = 100;

export function responseFindings({ pages }: ServiceProbe, requestsPerMinute: number): Finding[] {
  if (pages.length === 0) return [];
  const headers = pages.map(({ response }) => response.headers);
  const missing = PAGE_HEADERS.filter((name) =>
    pages.some(({ page, response }) => page && response.headers[name] === undefined),
  );
  return [
    latencyFinding(pages),
    clockFinding(pages),
    ...versionFindings(headers),
    missing.length === 0
      ? ok("headers", "the documented X- headers are present")
      : note("headers", `missing: ${missing.join(", ")}`, "The client does not need them; a proxy may remove them."),
    ...contentTypeFindings(pages),
    rateLimitFinding(headers, requestsPerMinute),
  ];
}

/** If only one request is slow, it is named. */
function latencyFinding(pages: readonly ProbedPage[]): Finding {
  const byDuration = [...pages].sort((one, next) => one.durationMs - next.durationMs);
  const median = byDuration[Math.floor(byDuration.length / 2)]?.durationMs ?? 0;
  const slowest = byDuration.at(-1);
  const slowestMs = slowest?.durationMs ?? 0;
  const latency = `median ${Math.round(median)} ms, slowest ${Math.round(slowestMs)} ms`;
  if (slowestMs < SLOW_MS) return ok("latency", latency);
  if (median >= SLOW_MS) return note("latency", latency, SLOW_HINT);
  return note("latency", `${latency} (GET ${slowest?.response.path})`, SLOW_HINT);
}

function versionFindings(headers: readonly Record<string, string>[]): Finding[] {
  const version = headers.map((one) => one["x-api-version"]).find((one) => one !== undefined && one !== "v1");
  const hint = "The client supports v1. Check the version segment of the base URL.";
  return version === undefined ? [] : [note("headers", `X-API-Version is ${version}, not v1`, hint)];
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
    const served = dateHeaderMs(response.headers);
    return served === undefined ? [] : [served - receivedAt];
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
  // A Date header has whole seconds.
  if (seconds <= 1) return ok("clock", "the service's clock agrees with this machine's");
  const summary = `the service's clock is ${seconds} s ${skewMs < 0 ? "behind" : "ahead of"} this machine's`;
  if (Math.abs(skewMs) < LARGE_SKEW_MS) return ok("clock", summary);
  return note("clock", summary, "Set the clock of this machine (NTP). The client compensates for the difference.");
}

/** The fields that the document describes as datetimes. */
const DATE_FIELDS: Readonly<Record<DocumentedList["name"], readonly string[]>> = {
  items: ["created", "modified"],
  lots: ["received", "shipped"],
  stockLevels: [],
};

const MAX_QUOTED_LENGTH = 40;

/** Schemas accept any string as a date, since the document names only ISO 8601. */
export function dateFindings(lists: readonly { list: DocumentedList; first: ProbedPage | undefined }[]): Finding[] {
  const isDate = (value: unknown) => dateInputSchema().safeParse(value).success;
  const places = lists.flatMap(({ list: { name, path }, first }) =>
    DATE_FIELDS[name].flatMap((field) => {
      const values = (first?.page?.value ?? []).map((record) => fieldOf(record, field));
      const wrong = values.filter((value) => typeof value === "string" && !isDate(value));
      const example = JSON.stringify(String(wrong[0]).slice(0, MAX_QUOTED_LENGTH));
      return wrong.length === 0 ? [] : [`${field} of GET ${path} (${example}, in ${plural(wrong.length, "record")})`];
    }),
  );
  if (places.length === 0) return [];
  const hint =
    "parseServiceDate rejects them, and a receipt whose response was lost is not recognised by its time. Ask the operators to correct them.";
  return [problem("dates", `not ISO 8601: ${places.join(", ")}`, hint)];
}
