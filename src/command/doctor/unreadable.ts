import { GZIP_PROBLEM } from "../../client/for-add-ons.js";
import { groupBy } from "../../plan/group-by.js";
import { ApiError, ResponseValidationError, type StocklotError, TimeoutError } from "../../shared/errors/index.js";
import { redact } from "../../shared/errors/redact.js";
import { type Finding, problem } from "./finding.js";
import type { ServiceProbe } from "./service-probe.js";

const TRY_LATER_HINT = "Try again later; if it persists, ask the operators of the service.";

const GZIP_HINT =
  "Ask the operators of the service, or of a proxy before it, to send the header Content-Encoding: gzip.";

/** What to do about a response that cannot be used. */
export function responseHint(error: StocklotError | undefined, baseUrl: string): string {
  if (error instanceof ResponseValidationError)
    return error.issues.some(({ message }) => message === GZIP_PROBLEM)
      ? GZIP_HINT
      : "Check the base URL: this may be another service, or a login page.";
  if (!(error instanceof ApiError)) return TRY_LATER_HINT;
  const { status, headers } = error;
  if (status >= 300 && status < 400) return redirectHint(headers.location, baseUrl);
  if (status === 403) return "Ask the operators of the service for the permission, or for the warehouses.";
  return status === 404 || status === 405 ? baseUrlHint(baseUrl) : TRY_LATER_HINT;
}

/** The message without the library's advice, which would be a second one. */
export const problemOf = (error: StocklotError): string =>
  error instanceof ApiError
    ? `${error.method} ${error.path}: ${error.status} ${error.serviceMessage || "(the response has no message)"}`
    : error.message;

/** Of another host only the origin, and no query: the rest may contain a secret. */
function redirectHint(location: string | undefined, baseUrl: string): string {
  const target = location !== undefined && URL.canParse(location, baseUrl) ? new URL(location, baseUrl) : undefined;
  if (target === undefined) return "The service redirects without saying where to. Check the base URL.";
  const shown = target.origin === new URL(baseUrl).origin ? target.origin + target.pathname : target.origin;
  return `The service redirects to ${redact(shown)}. The client follows no redirect. Check the base URL.`;
}

function baseUrlHint(baseUrl: string): string {
  const { pathname } = new URL(baseUrl);
  const [, version] = /\/(v\d+)\/?$/i.exec(pathname) ?? [];
  if (version === "v1") return "Check the host and the path of the base URL.";
  return version === undefined
    ? "Check the base URL: it has no version segment. It ends with /api/v1, for example."
    : `Check the base URL: its version segment is ${version}, the documented one is v1.`;
}

/** A list, or a part of one, that cannot be read. */
export interface Unreadable {
  name: string;
  path: string;
  error: StocklotError;
  hint: string;
}

/** One finding per cause: several lists that fail alike have the same one. Permissions are given for each list. */
export function unreadableFindings(unreadable: readonly Unreadable[]): Finding[] {
  const causes = groupBy(unreadable, ({ name, error, hint }) => {
    const { status = 0 } = error instanceof ApiError ? error : {};
    return status === 403 ? name : `${status} ${hint}`;
  });
  return [...causes.values()].flatMap(([first, ...others]) =>
    first ? [problem(first.name, problemOf(first.error) + alsoFor(others), first.hint)] : [],
  );
}

const alsoFor = (others: readonly { path: string }[]) =>
  others.length === 0 ? "" : ` The same: ${[...new Set(others.map(({ path }) => `GET ${path}`))].join(", ")}.`;

/** One finding for time limits, one for broken connections. */
export function noResponseFindings({ withoutResponse }: ServiceProbe): Finding[] {
  const isTimeout = ({ error }: ServiceProbe["withoutResponse"][number]) => error instanceof TimeoutError;
  return [withoutResponse.filter(isTimeout), withoutResponse.filter((one) => !isTimeout(one))].flatMap(
    ([first, ...others]) => {
      if (!first) return [];
      const hint = isTimeout(first)
        ? "If the service is slow, increase --timeout. Otherwise ask its operators."
        : "Check the network and the proxy; if it persists, ask the operators of the service.";
      const more = others.filter(({ path }) => path !== first.path);
      return [problem("connection", first.error.message.replace(/\.?$/, ".") + alsoFor(more), hint)];
    },
  );
}
