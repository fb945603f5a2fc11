import type { LoggedRequest } from "../activity.js";
import { createRandomGenerator, type RandomGenerator } from "../data/random.js";
import {
  createResponse,
  DROPPED_RESPONSE,
  errorResponse,
  jsonResponse,
  type SandboxResponse,
  STATUS_BY_ERROR_CODE,
} from "../http/messages.js";
import type { CompleteFaultRule } from "../options/fault-rule.js";
import type { SandboxSettings } from "../options/settings.js";

/** The part of a request that rules match. */
type FaultableRequest = Pick<LoggedRequest, "method" | "path" | "clientId">;

interface ActiveFaultRule {
  readonly rule: CompleteFaultRule;
  readonly path: RegExp | undefined;
  matched: number;
  /** How many times its fault was applied. */
  applied: number;
}

/** The active rules, with their counters. */
export class FaultRules {
  #rules: ActiveFaultRule[] = [];
  #random: RandomGenerator;

  readonly #seed: number;

  constructor({ seed, faults }: Pick<SandboxSettings, "seed" | "faults">) {
    this.#seed = seed;
    this.#random = createRandomGenerator(seed);
    for (const rule of faults) this.add(rule);
  }

  add(rule: CompleteFaultRule): void {
    const path = typeof rule.path === "string" ? wildcardToRegExp(rule.path) : rule.path;
    this.#rules.push({ rule, path, matched: 0, applied: 0 });
  }

  clear(): void {
    this.#rules = [];
    this.#random = createRandomGenerator(this.#seed);
  }

  /** The fault to apply to this request, if any. */
  takeFaultFor(subject: FaultableRequest): CompleteFault | undefined {
    for (const active of this.#rules) {
      const { rule } = active;
      if (!this.#matches(active, subject)) continue;
      active.matched += 1;
      if (active.matched <= rule.skip) continue;
      if (active.applied >= rule.times) continue;
      if (rule.probability !== undefined && this.#random() >= rule.probability) continue;
      active.applied += 1;
      return rule.fault;
    }
    return undefined;
  }

  #matches({ rule, path }: ActiveFaultRule, subject: FaultableRequest): boolean {
    if (rule.method !== undefined && rule.method.toUpperCase() !== subject.method) return false;
    if (rule.clientId !== undefined && rule.clientId !== subject.clientId) return false;
    // `search` rather than `test`: an expression with the flag g would keep its position between requests.
    return path === undefined || subject.path.search(path) !== -1;
  }
}

function wildcardToRegExp(path: string): RegExp {
  const literal = path.split("*").map((part) => part.replace(/[\\^$.|?+()[\]{}]/g, "\\$&"));
  return new RegExp(`^${literal.join(".*")}$`);
}

type CompleteFault = CompleteFaultRule["fault"];

/** The faulty response; undefined if there is never one. `serve` lets the request take effect, and returns the service's own. */
export function applyFault(fault: CompleteFault, serve: () => SandboxResponse): SandboxResponse | undefined {
  if ("when" in fault && fault.when === "after") serve();
  switch (fault.type) {
    case "status":
      return faultStatusResponse(fault.status, fault.body, fault.headers);
    case "html":
      return createResponse(fault.status, proxyErrorPageHtml(fault.status), "text/html");
    case "hang":
      return undefined;
    case "drop":
      return DROPPED_RESPONSE;
    case "wrong-shape":
      return jsonResponse(serve().status, fault.body);
    case "invalid-json":
      return withInvalidJson(serve());
    case "empty":
      return { ...serve(), body: "" };
    case "oversized":
      return { ...serve(), body: `"${"x".repeat(fault.bytes)}"` };
    case "truncated":
      return { ...serve(), delivery: { kind: "truncated", bytes: fault.bytes } };
    case "slow": {
      const { delayMs, chunkBytes } = fault;
      return { ...serve(), delivery: { kind: "slow", delayMs, chunkBytes } };
    }
  }
}

function faultStatusResponse(
  status: number,
  body: unknown,
  given: Readonly<Record<string, string>> = {},
): SandboxResponse {
  const headers = Object.fromEntries(Object.entries(given).map(([name, value]) => [name.toLowerCase(), value]));
  if (typeof body === "string") {
    const response = createResponse(status, body, "text/plain");
    return { ...response, headers: { ...response.headers, ...headers } };
  }
  if (body !== undefined || status < 400) return jsonResponse(status, body, headers);
  if (status === 429) return jsonResponse(status, { message: "Rate Limit Exceeded. 100 per Minute" }, headers);
  const message = "This response is the result of a fault rule.";
  return errorResponse(status, errorCodeOfStatus(status), message, { headers });
}

/** The first code that the document has for the status: for 400 that is `bad_request`. */
function errorCodeOfStatus(status: number): string | undefined {
  return Object.entries(STATUS_BY_ERROR_CODE).find(([, known]) => known === status)?.[0];
}

function proxyErrorPageHtml(status: number): string {
  return `<!DOCTYPE html>\n<html><head><title>${status}</title></head><body><h1>${status} Bad Gateway</h1><hr>proxy</body></html>\n`;
}

/** Almost JSON: a parser fails at the end only. */
function withInvalidJson(response: SandboxResponse): SandboxResponse {
  return { ...response, body: `${String(response.body).slice(0, -1)},]` };
}
