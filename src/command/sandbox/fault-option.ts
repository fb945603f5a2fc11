import { InvalidArgumentError } from "commander";
import {
  expandFaultShorthand,
  FAULT_SHORTHANDS,
  type Fault,
  type FaultRule,
} from "../../sandbox/options/fault-rule.js";
import { READS, TOKEN_REQUEST, WRITES } from "../../service/operations.js";

/**
 * Parses a rule such as `POST /Inventory/Receive drop-after times=1`: an optional method, an optional path, a fault or a
 * status, then details.
 */
export function faultOption(text: string, earlier: readonly FaultRule[] = []): FaultRule[] {
  const words = text.trim().split(/\s+/);
  const method = /^[A-Z]+$/.test(words[0] ?? "") ? words.shift() : undefined;
  const path = /^[/*]/.test(words[0] ?? "") ? words.shift() : undefined;
  if (path !== undefined) assertCanMatch(method, path);
  const fault = parseFault(words.shift() ?? "");
  const details = words.map(parseDetail);
  const ofFault = FAULT_DETAILS[fault.type] ?? {};
  const unknown = details.find(([name]) => !RULE_DETAILS.includes(name) && !Object.hasOwn(ofFault, name));
  if (unknown) throw new InvalidArgumentError(`There is no detail "${unknown[0]}" for ${fault.type}.`);
  const rule = {
    ...(method !== undefined && { method }),
    ...(path !== undefined && { path }),
    ...Object.fromEntries(details.filter(([name]) => RULE_DETAILS.includes(name))),
    fault: {
      ...fault,
      ...Object.fromEntries(details.flatMap(([name, value]) => (ofFault[name] ? [[ofFault[name], value]] : []))),
    },
  };
  return [...earlier, rule];
}

/** Details of each rule, under their names in the rule. */
const RULE_DETAILS: readonly string[] = ["times", "skip", "probability"];

/** Details of a fault, with their names in the rule. */
const FAULT_DETAILS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  slow: { delay: "delayMs", chunk: "chunkBytes" },
  truncated: { bytes: "bytes" },
  oversized: { bytes: "bytes" },
};

/** A path that fits no endpoint is most likely misspelt: such a rule would never apply. */
function assertCanMatch(method: string | undefined, path: string): void {
  const operations = [TOKEN_REQUEST, ...Object.values(READS), ...Object.values(WRITES)];
  const known = operations.filter((each) => method === undefined || each.method === method).map(({ path }) => path);
  // Warehouses are numbers; items can be any string.
  const patterns = known.map((pattern) => pattern.replace("{wid}", "#").replace("{item}", "*"));
  if (patterns.some((pattern) => canMatchBoth(path, pattern))) return;
  throw new InvalidArgumentError(
    `The path "${path}" matches no endpoint. Paths are relative to the base URL and case-sensitive: ${known.join(", ")}`,
  );
}

/** Whether some string matches both patterns. `*` stands for any string, `#` in the second for digits. */
function canMatchBoth(one: string, other: string): boolean {
  if (one === "" && other === "") return true;
  if (one.startsWith("*"))
    return canMatchBoth(one.slice(1), other) || (other !== "" && canMatchBoth(one, other.slice(1)));
  if (other.startsWith("*"))
    return canMatchBoth(one, other.slice(1)) || (one !== "" && canMatchBoth(one.slice(1), other));
  if (one === "") return false;
  if (other.startsWith("#"))
    return /^\d/.test(one) && (canMatchBoth(one.slice(1), other) || canMatchBoth(one.slice(1), other.slice(1)));
  return one[0] === other[0] && canMatchBoth(one.slice(1), other.slice(1));
}

function parseFault(word: string): Fault {
  if (/^[2-5]\d\d$/.test(word)) return expandFaultShorthand(Number(word));
  const name = FAULT_SHORTHANDS.find((known) => known === word);
  if (name) return expandFaultShorthand(name);
  throw new InvalidArgumentError(`"${word}" is neither a status nor one of ${FAULT_SHORTHANDS.join(", ")}.`);
}

function parseDetail(word: string): [string, number] {
  const [name = "", value = ""] = word.split("=");
  if (value !== "" && Number.isFinite(Number(value))) return [name, Number(value)];
  throw new InvalidArgumentError(`"${word}" is not name=number.`);
}
