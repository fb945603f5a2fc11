import { FAULT_NAMES, toFault } from "../faults/fault-from.js";
import type { Fault, FaultRule } from "../faults/rule.js";

/**
 * A rule from text such as `POST /Inventory/Receive drop-after times=1`: method and path may be left out, then comes
 * the fault, or a status, then details. Throws an `Error` that says what it does not understand.
 */
export function parseFaultRule(text: string): FaultRule {
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
  if (/^[2-5]\d\d$/.test(word)) return toFault(Number(word));
  const name = FAULT_NAMES.find((known) => known === word);
  if (name) return toFault(name);
  throw new Error(`--fault "${text}": "${word}" is neither a status nor one of ${FAULT_NAMES.join(", ")}.`);
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

/** Takes one detail out, under the name that the rule has for it. */
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
