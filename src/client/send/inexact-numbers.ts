import type { Issue } from "../../shared/errors/index.js";
import { boundedIssue, MAX_ISSUES, shortenText } from "../../shared/input-issues.js";

/**
 * Matches whatever contains a number of more than 15 significant digits, wherever its point is: three digits and eleven more
 * characters. Tested first, because it rejects most bodies in a third of the time.
 */
const POSSIBLY_LONG_NUMBER_PATTERN = /\d{3}[\d.]{11}|\d[eE][+-]?\d{3}/;

/**
 * A number that a double may not represent exactly: more than 15 significant digits, or an exponent of three digits. Any other
 * number stays the same when it is parsed and printed. A string that begins with digits, such as an RFID tag, does not
 * match; one with that many digits after a space does, which only costs time.
 */
const INEXACT_NUMBER_PATTERN = /(?:^|[^"\w.])\d(?:[\d.]{15}|[\d.]*[eE][+-]?\d{3})/;

const JSON_TOKEN_PATTERN = /[{}[\],:"]|-?\d[\d.eE+-]*/g;
const JSON_NUMBER_PATTERN = /^-?(\d+)(?:\.(\d*))?(?:[eE]([+-]?\d+))?$/;

/** One issue for each number of a JSON text that `JSON.parse` would round silently. */
export function findInexactNumbers(text: string): Issue[] {
  if (!POSSIBLY_LONG_NUMBER_PATTERN.test(text) || !INEXACT_NUMBER_PATTERN.test(text)) return [];
  const issues: Issue[] = [];
  const path: Issue["path"] = [];
  let string = "";
  JSON_TOKEN_PATTERN.lastIndex = 0;
  for (
    let match = JSON_TOKEN_PATTERN.exec(text);
    match && issues.length < MAX_ISSUES;
    match = JSON_TOKEN_PATTERN.exec(text)
  ) {
    const [token] = match;
    const last = path.length - 1;
    const step = path[last];
    if (token === "{") path.push("");
    else if (token === "[") path.push(0);
    else if (token === "}" || token === "]") path.pop();
    else if (token === ",") path[last] = typeof step === "number" ? step + 1 : "";
    else if (token === ":") path[last] = JSON.parse(string);
    else if (token === '"') {
      JSON_TOKEN_PATTERN.lastIndex = endOfJsonString(text, match.index) + 1;
      string = text.slice(match.index, JSON_TOKEN_PATTERN.lastIndex);
    } else if (!isExactlyRepresentable(token)) {
      issues.push(
        boundedIssue({ path, message: `${shortenText(token, 40)} cannot be represented exactly by a number` }),
      );
    }
  }
  return issues;
}

/** Whether a number stays the same when it is parsed as a double and printed. */
export function isExactlyRepresentable(number: string): boolean {
  return significantDigits(number) === significantDigits(String(Number(number)));
}

/** The digits without zeros at either end, and their exponent after "0.". The sign is left out, since it is never lost. */
function significantDigits(number: string): string | undefined {
  const [, whole, fraction = "", exponent = "0"] = JSON_NUMBER_PATTERN.exec(number) ?? [];
  if (whole === undefined) return undefined;
  const digits = (whole + fraction).replace(/^0+/, "");
  let end = digits.length;
  while (digits[end - 1] === "0") end -= 1;
  return end === 0 ? "0" : `${digits.slice(0, end)}e${Number(exponent) - fraction.length + digits.length}`;
}

/** The position of the quotation mark that ends a string: one with an even number of backslashes before it. */
function endOfJsonString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let backslashes = 0;
    while (text[end - 1 - backslashes] === "\\") backslashes += 1;
    if (backslashes % 2 === 0) return end;
  }
  return text.length;
}
