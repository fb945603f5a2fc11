const lenient = /* @__PURE__ */ new TextDecoder();
const strict = /* @__PURE__ */ new TextDecoder("utf-8", { fatal: true });

/** The body as a string, without a byte order mark. Bytes that are not UTF-8 become replacement characters. */
export const readText = ({ body }: { body: Uint8Array }): string => lenient.decode(body);

/** The same; `undefined` if the body is not valid UTF-8. */
export function readValidText({ body }: { body: Uint8Array }): string | undefined {
  try {
    return strict.decode(body);
  } catch {
    return undefined;
  }
}

/** Deeper nesting is rejected: it overflows the stack of recursive code, and V8 takes long to parse it. */
export const MAX_JSON_NESTING = 100;

/** From this length on, the nesting is measured before the text is parsed, in a fraction of the time. */
const LARGE_TEXT_LENGTH = 256 * 1024;

/** The value of a JSON text; `undefined`, which is no JSON value, if it is not JSON or nested too deeply. */
export function parseJsonOrUndefined(text: string): unknown {
  if (text.length >= LARGE_TEXT_LENGTH && isTextNestedTooDeeply(text)) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    return isNestedDeeperThan(value, MAX_JSON_NESTING) ? undefined : value;
  } catch {
    return undefined;
  }
}

/** Only containers are recursed into: a call for each value would take 35 µs more for a page of 250 lots (bench: page). */
function isNestedDeeperThan(value: unknown, allowed: number): boolean {
  if (!isContainer(value)) return false;
  if (allowed === 0) return true;
  if (Array.isArray(value)) return value.some((entry) => isNestedDeeperThan(entry, allowed - 1));
  for (const key in value) {
    const entry = value[key];
    if (isContainer(entry) && isNestedDeeperThan(entry, allowed - 1)) return true;
  }
  return false;
}

const isContainer = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null;

/** Whether a string is nested too deeply, if it is JSON. */
export function isTextNestedTooDeeply(text: string): boolean {
  let depth = 0;
  let isString = false;
  for (let index = 0; index < text.length; index += 1) {
    const character = text[index];
    if (isString) {
      if (character === "\\") index += 1;
      else if (character === '"') isString = false;
    } else if (character === '"') isString = true;
    else if (character === "}" || character === "]") depth -= 1;
    else if (character === "{" || character === "[") depth += 1;
    if (depth > MAX_JSON_NESTING) return true;
  }
  return false;
}
