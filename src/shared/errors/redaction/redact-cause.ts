import { nodeUtil } from "../../node-modules.js";
import { fieldOf, isObject, messageOf } from "../../unknown.js";
import { isBrandedPrototype } from "../brand.js";
import { REDACTED, redact } from "./redact.js";

/** A larger or deeper cause is not searched but replaced. */
const MAX_CAUSE_DEPTH = 8;
const MAX_CAUSE_CHARACTERS = 200_000;

/** The classes of JavaScript whose objects are searched. What a class with methods shows cannot be known without running them. */
const SEARCHED_PROTOTYPES: ReadonlySet<unknown> = new Set([
  null,
  ...[Object, Array, Date, DOMException, AggregateError].map(({ prototype }) => prototype),
  ...[Error, EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError].map(({ prototype }) => prototype),
]);

/** In some versions of V8, one getter returns the stack of every error. */
const STACK_GETTER = Object.getOwnPropertyDescriptor(new Error(), "stack")?.get;

/** On a runtime without `node:util`, a Proxy cannot be recognised. */
const isProxy = (value: unknown) => nodeUtil?.types.isProxy(value) === true;

/**
 * The cause of an error of this package. An error of this package, one of a plain class, and plain data stay as they are if
 * they show no secret. Everything else (a parser's error holds the raw response, a caller's fetch may hold the request)
 * becomes an error with its name, message, code and stack, and with its own cause, redacted in the same way. Never throws.
 */
export function redactCause(cause: unknown, depth = 0): unknown {
  if (typeof cause === "string") return redact(cause);
  if (attempt(() => isFreeOfSecrets(cause)) === true) return cause;
  return attempt(() => createRedactedError(cause, depth)) ?? new Error(REDACTED);
}

function createRedactedError(cause: unknown, depth: number): Error | undefined {
  if (!(cause instanceof Error) || depth > MAX_CAUSE_DEPTH) return undefined;
  const inner = attempt(() => cause.cause);
  const copy = new Error(redact(messageOf(cause)), inner === undefined ? {} : { cause: redactCause(inner, depth + 1) });
  const [name = copy.name, stack = `${name}: ${copy.message}`, code] = ["name", "stack", "code"].map((field) => {
    const value = attempt(() => fieldOf(cause, field));
    return typeof value === "string" ? redact(value) : undefined;
  });
  return Object.assign(copy, { name, stack }, code === undefined ? {} : { code });
}

/** `undefined` if code of the caller's throws: a getter, or a Proxy. */
function attempt<T>(run: () => T): T | undefined {
  try {
    return run();
  } catch {
    return undefined;
  }
}

/** Whether a value is known to show no secret in a log. The search runs no code of the caller's. */
function isFreeOfSecrets(cause: unknown): boolean {
  const seen = new Set<object>();
  let characters = 0;

  const isHarmlessText = (text: string) => {
    characters += text.length;
    return characters <= MAX_CAUSE_CHARACTERS && redact(text) === text;
  };

  const isHarmless = (value: unknown, depth: number): boolean => {
    if (typeof value === "string" || typeof value === "symbol") return isHarmlessText(String(value));
    if (!isObject(value)) return typeof value !== "function";
    if (seen.has(value)) return true;
    seen.add(value);
    if (depth > MAX_CAUSE_DEPTH || isProxy(value) || hasRawResponse(value)) return false;
    if (isSearchable(value)) return Reflect.ownKeys(value).every((key) => isHarmlessPart(value, key, depth));
    const prototype: unknown = Object.getPrototypeOf(value);
    // An error of this package was redacted when it was created.
    return isObject(prototype) && !isProxy(prototype) && isBrandedPrototype(prototype);
  };

  const isHarmlessPart = (owner: object, key: string | symbol, depth: number): boolean => {
    const property = Object.getOwnPropertyDescriptor(owner, key);
    const isNativeStack = property?.get !== undefined && property.get === STACK_GETTER;
    if (property?.get && !isNativeStack) return false;
    const value: unknown = isNativeStack ? Reflect.get(owner, key) : property?.value;
    // The name of a field may show that its value is a secret: `client_secret`.
    if (typeof key === "string" && typeof value === "string") return isHarmlessText(`${key}="${value}"`);
    return isHarmless(key, depth) && isHarmless(value, depth + 1);
  };

  return isHarmless(cause, 0);
}

/** Whether the fields of an object are all that it shows: its class is one of JavaScript, or adds only a constructor to it. */
function isSearchable(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  if (SEARCHED_PROTOTYPES.has(prototype)) return true;
  if (!isObject(prototype) || isProxy(prototype)) return false;
  return Reflect.ownKeys(prototype).every((key) => key === "constructor") && isSearchable(prototype);
}

/** A parser's error holds the rest of the raw response, in which a secret may have been cut in two. */
const hasRawResponse = (value: object) => value instanceof Error && ("data" in value || "rawPacket" in value);
