import { redact } from "../../shared/errors/redaction/redact.js";
import { platformName, runtimeName } from "../../shared/runtime-name.js";
import type { RateLimitSnapshot } from "../limiter/rate-limiter.js";
import type { TransportInfo } from "../transport/transport.js";
import type { EndEvent } from "./events.js";

/** Options whose values reveal nothing about the caller. Of the others, the report shows only that they are set. */
const HARMLESS_OPTION_PATTERN =
  /^(timeoutMs|totalTimeoutMs|rateLimit|retry|responseValidation|maxResponseBytes|allowInsecureHttp)$/;

/** Returns a string for a bug report: versions, options, the state of the rate limit, and the calls that ended last. */
export function createDebugReport(
  version: string,
  options: object,
  transport: TransportInfo,
  rateLimit: RateLimitSnapshot,
  ended: readonly EndEvent[],
): string {
  const given = Object.entries(options).map(
    ([name, value]) => `  ${name}: ${HARMLESS_OPTION_PATTERN.test(name) ? toJsonWithInfinity(value) : "(given)"}`,
  );
  const calls = ended.map(({ startedAt, method, path, status, error, attempts, durationMs }) => {
    const outcome = [status ?? "no response", error].filter(Boolean).join(" ");
    const time = new Date(startedAt).toISOString();
    return `  ${time} ${method} ${path}: ${outcome}; attempts: ${attempts}, ${Math.round(durationMs)} ms`;
  });
  return redact(
    [
      `stocklot ${version}, ${runtimeName()}, ${platformName()}`,
      `transport: ${describeTransport(transport)}`,
      "options:",
      ...given,
      `rate limit: ${toJsonWithInfinity(rateLimit)}`,
      `calls that ended last: ${ended.length}`,
      ...calls,
    ].join("\n"),
  );
}

/** The TLS version and the proxy are those of the last connection, if the runtime reports them. */
const describeTransport = ({ name, tls, proxy }: TransportInfo) =>
  [name, tls, proxy && `through the proxy ${proxy}`].filter(Boolean).join(", ");

const toJsonWithInfinity = (value: unknown) =>
  JSON.stringify(value, (_, part) => (part === Infinity ? String(part) : part));
