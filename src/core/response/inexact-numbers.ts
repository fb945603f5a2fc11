import type { Issue } from "../../errors/index.js";
import { issueAt, MAX_ISSUES, shortened } from "../request/check-input.js";

/**
 * Matches whatever contains a number of more than 15 significant digits, wherever its point is: three digits and eleven more
 * characters. Tested first, because it rejects most bodies in a third of the time.
 */
const QUICK_CHECK = /\d{3}[\d.]{11}|\d[eE][+-]?\d{3}/;

/**
 * A number that a double may not represent exactly: more than 15 significant digits, or an exponent of three digits. Any other
 * number stays the same when it is parsed and printed. A string that begins with digits, such as an RFID tag, does not
 * match; one with that many digits after a space does, which only costs time.
 */
const SUSPECT_NUMBER = /(?:^|[^"\w.])\d(?:[\d.]{15}|[\d.]*[eE][+-]?\d{3})/;

const TOKEN = /[{}[\],:"]|-?\d[\d.eE+-]*/g;
const NUMBER = /^-?(\d+)(?:\.(\d*))?(?:[eE]([+-]?\d+))?$/;

/** One issue for each number of a JSON text that `JSON.parse` would round silently. */
export function inexactNumbers(text: string): Issue[] {
  if (!QUICK_CHECK.test(text) || !SUSPECT_NUMBER.test(text)) return [];
  const issues: Issue[] = [];
  const path: Issue["path"] = [];
  let string = "";
  TOKEN.lastIndex = 0;
  for (let match = TOKEN.exec(text); match && issues.length < MAX_ISSUES; match = TOKEN.exec(text)) {
    const [token] = match;
    const last = path.length - 1;
    const step = path[last];
    if (token === "{") path.push("");
    else if (token === "[") path.push(0);
    else if (token === "}" || token === "]") path.pop();
    else if (token === ",") path[last] = typeof step === "number" ? step + 1 : "";
    else if (token === ":") path[last] = JSON.parse(string);
    else if (token === '"') {
      TOKEN.lastIndex = endOfString(text, match.index) + 1;
      string = text.slice(match.index, TOKEN.lastIndex);
    } else if (!isExact(token)) {
      issues.push(issueAt(path, `${shortened(token, 40)} cannot be represented exactly by a number`));
    }
  }
  return issues;
}

/** Whether a number stays the same when it is parsed as a double and printed. */
export function isExact(number: string): boolean {
  return significantDigits(number) === significantDigits(String(Number(number)));
}

/** The digits without zeros at either end, and the exponent. The sign is left out, since it is never lost. */
function significantDigits(number: string): string | undefined {
  const [, whole, fraction = "", exponent = "0"] = NUMBER.exec(number) ?? [];
  if (whole === undefined) return undefined;
  const digits = (whole + fraction).replace(/^0+/, "");
  let end = digits.length;
  while (digits[end - 1] === "0") end -= 1;
  return end === 0 ? "0" : `${digits.slice(0, end)}e${Number(exponent) - fraction.length + digits.length - end}`;
}

/** The position of the quotation mark that ends a string: one with an even number of backslashes before it. */
function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let backslashes = 0;
    while (text[end - 1 - backslashes] === "\\") backslashes += 1;
    if (backslashes % 2 === 0) return end;
  }
  return text.length;
}
