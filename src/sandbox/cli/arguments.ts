import { parseArgs } from "node:util";
import { expandFaultShorthand, FAULT_SHORTHANDS, type Fault, type FaultRule } from "../options/fault-rule.js";
import type { SandboxOptions } from "../options/options.js";

/** What the command line requests. */
export type Command = { readonly kind: "help" } | { readonly kind: "version" } | ServeCommand;

export interface ServeCommand {
  readonly kind: "serve";
  readonly port: number;
  readonly host: string;
  readonly options: SandboxOptions;
}

export const DEFAULT_PORT = 4010;

/** Requests that the command keeps for its page. */
const LOG_SIZE = 1000;

/** Throws an `Error` that describes what is wrong with the arguments. */
export function parseCommand(args: readonly string[]): Command {
  const { values } = parseArgs({ args: [...args], options: OPTIONS, strict: true });
  if (values.help) return { kind: "help" };
  if (values.version) return { kind: "version" };
  const client = { clientId: "sandbox-client", clientSecret: "sandbox-secret", readOnly: values["read-only"] === true };
  return {
    kind: "serve",
    port: values.port === undefined ? DEFAULT_PORT : parseInteger("port", values.port, 0, 65_535),
    host: values.host ?? "127.0.0.1",
    options: {
      clients: [client],
      requestLogSize: LOG_SIZE,
      faults: (values.fault ?? []).map(parseFaultRule),
      ...(values.items !== undefined && { items: parseInteger("items", values.items, 0) }),
      ...(values.lots !== undefined && { lots: parseInteger("lots", values.lots, 0) }),
      ...(values.seed !== undefined && { seed: parseInteger("seed", values.seed, 0) }),
      ...(values.latency !== undefined && { latencyMs: parseLatency(values.latency) }),
      ...(values["rate-limit"] !== undefined && { rateLimit: parseRateLimit(values["rate-limit"]) }),
      ...(values["token-ttl"] !== undefined && { tokenTtlSeconds: parseInteger("token-ttl", values["token-ttl"], 1) }),
    },
  };
}

const OPTIONS = {
  port: { type: "string", short: "p" },
  host: { type: "string" },
  items: { type: "string" },
  lots: { type: "string" },
  seed: { type: "string" },
  latency: { type: "string" },
  "rate-limit": { type: "string" },
  "token-ttl": { type: "string" },
  "read-only": { type: "boolean" },
  fault: { type: "string", multiple: true },
  help: { type: "boolean", short: "h" },
  version: { type: "boolean", short: "v" },
} as const;

function parseInteger(name: string, text: string, min: number, max?: number): number {
  const value = Number(text);
  if (/^\d+$/.test(text) && value >= min && value <= (max ?? Number.MAX_SAFE_INTEGER)) return value;
  const range = max === undefined ? `of at least ${min}` : `from ${min} to ${max}`;
  throw new Error(`--${name} must be an integer ${range}, not "${text}".`);
}

function parseLatency(text: string): number | [number, number] {
  const [min, max] = text.split("-");
  if (max === undefined) return parseInteger("latency", text, 0);
  return [parseInteger("latency", min ?? "", 0), parseInteger("latency", max, Number(min))];
}

function parseRateLimit(text: string): SandboxOptions["rateLimit"] & (object | false) {
  return text === "off" || text === "0" ? false : { requests: parseInteger("rate-limit", text, 1) };
}

/**
 * Parses a rule such as `POST /Inventory/Receive drop-after times=1`: an optional method, an optional path, a fault or a
 * status, then details. Throws an `Error` that quotes what it does not understand.
 */
function parseFaultRule(text: string): FaultRule {
  const words = text.trim().split(/\s+/);
  const method = /^[A-Z]+$/.test(words[0] ?? "") ? words.shift() : undefined;
  const path = words[0]?.startsWith("/") ? words.shift() : undefined;
  const fault = parseFault(words.shift() ?? "", text);
  const details = new Map(words.map((word) => parseDetail(word, text)));
  return {
    ...(method !== undefined && { method }),
    ...(path !== undefined && { path }),
    ...takeDetail(details, "times", "times"),
    ...takeDetail(details, "skip", "skip"),
    ...takeDetail(details, "probability", "probability"),
    fault: withDetails(fault, details, text),
  };
}

function parseFault(word: string, text: string): Fault {
  if (/^[2-5]\d\d$/.test(word)) return expandFaultShorthand(Number(word));
  const name = FAULT_SHORTHANDS.find((known) => known === word);
  if (name) return expandFaultShorthand(name);
  throw new Error(`--fault "${text}": "${word}" is neither a status nor one of ${FAULT_SHORTHANDS.join(", ")}.`);
}

function withDetails(fault: Fault, details: Map<string, number>, text: string): Fault {
  let result: Fault = fault;
  if (fault.type === "slow") {
    result = { ...fault, ...takeDetail(details, "delay", "delayMs"), ...takeDetail(details, "chunk", "chunkBytes") };
  } else if (fault.type === "truncated" || fault.type === "oversized") {
    result = { ...fault, ...takeDetail(details, "bytes", "bytes") };
  }
  const [unknown] = details.keys();
  if (unknown !== undefined) throw new Error(`--fault "${text}": there is no detail "${unknown}" for ${fault.type}.`);
  return result;
}

function parseDetail(word: string, text: string): [string, number] {
  const [name = "", value = ""] = word.split("=");
  if (value === "" || !Number.isFinite(Number(value)))
    throw new Error(`--fault "${text}": "${word}" is not name=number.`);
  return [name, Number(value)];
}

/** Removes one detail and returns it under the name that the rule has for it. */
function takeDetail<Name extends string>(
  details: Map<string, number>,
  from: string,
  name: Name,
): { [N in Name]?: number };
function takeDetail(details: Map<string, number>, from: string, name: string): Record<string, number> {
  const value = details.get(from);
  details.delete(from);
  return value === undefined ? {} : { [name]: value };
}
