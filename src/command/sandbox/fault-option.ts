import { InvalidArgumentError } from "commander";
import { wildcardToRegExp } from "../../sandbox/faults.js";
import { createSandbox, type FaultRule } from "../../sandbox/index.js";
import { documentedPaths } from "../../service/operations.js";
import { messageOf } from "../../shared/unknown.js";
import { nearestNameHint } from "../../shared/unknown-name.js";

/** Details of a rule and of the faults truncated and slow, with their names in the rule. */
const RULE_DETAILS = ["times", "skip", "probability"];
const FAULT_DETAILS: Readonly<Record<string, string>> = { bytes: "bytes", delay: "delayMs", chunk: "chunkBytes" };

/**
 * Parses a rule such as `POST /Inventory/Receive drop-after times=1`: an optional method, an optional path, a fault or a
 * status, then details. The sandbox checks the values.
 */
export function faultOption(text: string, earlier: readonly FaultRule[] = []): FaultRule[] {
  const words = text.trim().split(/\s+/);
  const method = /^[A-Z]+$/.test(words[0] ?? "") ? words.shift() : undefined;
  const path = /^[/*]/.test(words[0] ?? "") ? words.shift() : undefined;
  if (path !== undefined) assertCanMatch(path);
  const name = words.shift() ?? "";
  const details = Object.fromEntries(words.map(parseDetail));
  const ofRule = Object.entries(details).filter(([key]) => RULE_DETAILS.includes(key));
  const ofFault = Object.entries(details).filter(([key]) => !RULE_DETAILS.includes(key));
  const named = Object.fromEntries(ofFault.map(([key, value]) => [FAULT_DETAILS[key] ?? key, value]));
  const [unknown] = ofFault.find(([key]) => /^\d+$/.test(name) || !Object.hasOwn(FAULT_DETAILS, key)) ?? [];
  if (unknown !== undefined) {
    const known = [...RULE_DETAILS, ...Object.keys(FAULT_DETAILS)];
    throw new InvalidArgumentError(`"${unknown}" is no detail of this fault${nearestNameHint(unknown, known) || "."}`);
  }
  const fault = /^\d+$/.test(name) ? Number(name) : ofFault.length > 0 ? { type: name, ...named } : name;
  // A rule of words has no type yet: addFault checks it.
  const rule = { method, path, ...Object.fromEntries(ofRule), fault } as FaultRule;
  try {
    createSandbox({ items: 0, lots: 0 }).addFault(rule);
  } catch (error) {
    throw new InvalidArgumentError(messageOf(error));
  }
  return [...earlier, rule];
}

/** A path that fits no endpoint is most likely misspelt: such a rule would never apply. */
function assertCanMatch(path: string): void {
  const rule = wildcardToRegExp(path);
  const known = documentedPaths();
  const endpoint = (pattern: string) =>
    new RegExp(`^${pattern.replace("{wid}", "[\\d*]+").replace(/\{\w+\}/, "[^/]+")}$`);
  if (known.some((pattern) => rule.test(pattern.replace(/\{\w+\}/, "1")) || endpoint(pattern).test(path))) return;
  throw new InvalidArgumentError(
    `The path "${path}" matches no endpoint. Paths are relative to the base URL and case-sensitive: ${known.join(", ")}`,
  );
}

function parseDetail(word: string): [string, number] {
  const [name = "", value = ""] = word.split("=");
  if (value !== "" && Number.isFinite(Number(value))) return [name, Number(value)];
  throw new InvalidArgumentError(`"${word}" is not name=number.`);
}
