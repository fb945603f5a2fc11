import { isBrandedPrototype } from "../brand.js";
import { fieldOf, isObject, messageOf } from "../unknown-value.js";
import { byteString } from "./byte-string.js";
import { REDACTED, redact } from "./redact.js";
import { isAnyArrayBuffer, isMap, isNativeError, isOpaque, isProxy, isSet } from "./value-types.js";

/** A larger or deeper cause is not searched but replaced. */
const MAX_CAUSE_DEPTH = 16;
const MAX_CAUSE_VALUES = 2_000;
const MAX_CAUSE_CHARACTERS = 200_000;

/**
 * The cause itself if it is known to show no secret; otherwise (a parser's error holds the raw response, a caller's fetch
 * may hold the request) an error with its name, message, code and stack only. Never throws.
 */
export function redactCause(cause: unknown): unknown {
  if (typeof cause === "string") return redact(cause);
  if (isFreeOfSecrets(cause)) return cause;
  try {
    return isNativeError(cause) || cause instanceof Error ? createRedactedError(cause) : new Error(REDACTED);
  } catch {
    return new Error(REDACTED);
  }
}

function createRedactedError(cause: Error): Error {
  const copy = new Error(redact(messageOf(cause)));
  const [name, stack, code] = [
    readRedactedText(cause, "name"),
    readRedactedText(cause, "stack"),
    readRedactedText(cause, "code"),
  ];
  if (name !== undefined) copy.name = name;
  copy.stack = stack ?? `${copy.name}: ${copy.message}`;
  return code === undefined ? copy : Object.assign(copy, { code });
}

function readRedactedText(cause: Error, name: string): string | undefined {
  try {
    const value = fieldOf(cause, name);
    return typeof value === "string" ? redact(value) : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Whether a value is known to show no secret in a log. The check runs no code of the caller, if the runtime permits.
 */
function isFreeOfSecrets(cause: unknown): boolean {
  const seen = new Set<object>();
  let values = 0;
  let characters = 0;

  const isHarmlessText = (text: string) => {
    characters += text.length;
    return characters <= MAX_CAUSE_CHARACTERS && redact(text) === text;
  };

  const isHarmlessValue = (value: unknown, depth: number): boolean => {
    values += 1;
    if (values > MAX_CAUSE_VALUES || depth > MAX_CAUSE_DEPTH) return false;
    if (typeof value === "string" || typeof value === "symbol") return isHarmlessText(String(value));
    if (!isObject(value) && typeof value !== "function") return true;
    if (seen.has(value)) return true;
    seen.add(value);
    if (isOpaque(value) || hasRawResponse(value)) return false;
    if (isRedactedError(value)) return true;
    return (
      inheritedPartsOf(value).every((part) => isHarmlessPart(part, depth)) &&
      ownPartsOf(value).every((part) => isHarmlessPart(part, depth))
    );
  };

  const isHarmlessPart = ([key, value]: ObjectPart, depth: number): boolean => {
    if (value === UNKNOWN_VALUE) return false;
    // The name of a field may show that its value is a secret: `client_secret`.
    if (typeof key === "string" && typeof value === "string") return isHarmlessText(`${key}="${value}"`);
    return isHarmlessValue(key, depth) && isHarmlessValue(value, depth + 1);
  };

  try {
    return isHarmlessValue(cause, 0);
  } catch {
    return false;
  }
}

/** A key and its value. */
type ObjectPart = readonly [unknown, unknown];

/** In place of a value that only code of the caller's could compute. */
const UNKNOWN_VALUE = Symbol("unknown");

/** An error of this package, of no class of the caller's: it was redacted when it was created. */
function isRedactedError(value: object): boolean {
  const prototype = Object.getPrototypeOf(value);
  return isNativeError(value) && !isProxy(prototype) && isBrandedPrototype(prototype);
}

/** A parser's error holds the rest of the raw response, in which a secret may have been cut in two. */
const hasRawResponse = (value: object) => isNativeError(value) && ("data" in value || "rawPacket" in value);

/** The own content of a value. */
function ownPartsOf(value: object): ObjectPart[] {
  const parts: ObjectPart[] = [];
  if (isMap(value)) Map.prototype.forEach.call(value, (entry, key) => parts.push([key, entry]));
  if (isSet(value)) Set.prototype.forEach.call(value, (entry) => parts.push([undefined, entry]));
  if (ArrayBuffer.isView(value)) parts.push(bytesAsPart(value.buffer, value.byteOffset, value.byteLength));
  if (isAnyArrayBuffer(value)) parts.push(bytesAsPart(value, 0, value.byteLength));
  if ((Array.isArray(value) || ArrayBuffer.isView(value)) && Number(fieldOf(value, "length")) > MAX_CAUSE_VALUES)
    return [[undefined, UNKNOWN_VALUE]];
  for (const key of Reflect.ownKeys(value)) {
    const property = Object.getOwnPropertyDescriptor(value, key);
    const isNativeStack = property?.get !== undefined && property.get === STACK_GETTER;
    parts.push([key, isNativeStack ? Reflect.get(value, key) : displayedValueOf(key, property)]);
  }
  return parts;
}

function bytesAsPart(buffer: ArrayBufferLike, offset: number, length: number): ObjectPart {
  return [
    undefined,
    length > MAX_CAUSE_CHARACTERS ? UNKNOWN_VALUE : byteString(new Uint8Array(buffer, offset, length)),
  ];
}

/** The members by which an object controls how it is shown. */
const DISPLAY_MEMBERS: readonly PropertyKey[] = [
  "name",
  "message",
  "code",
  "toString",
  "toJSON",
  Symbol.for("nodejs.util.inspect.custom"),
  Symbol.toStringTag,
];

/** Classes of JavaScript and Node.js whose code shows only the content of their objects. */
const BUILT_IN_PROTOTYPES: ReadonlySet<unknown> = new Set([
  Object.prototype,
  Function.prototype,
  Error.prototype,
  DOMException.prototype,
  Array.prototype,
  Date.prototype,
  Map.prototype,
  Set.prototype,
  globalThis.Buffer?.prototype,
  Object.getPrototypeOf(Uint8Array.prototype),
]);

/** The content that a value inherits from its classes. */
function inheritedPartsOf(value: object): ObjectPart[] {
  const parts: ObjectPart[] = [];
  for (let shared = Object.getPrototypeOf(value); shared !== null; shared = Object.getPrototypeOf(shared)) {
    if (isProxy(shared)) return [[undefined, UNKNOWN_VALUE]];
    if (BUILT_IN_PROTOTYPES.has(shared)) continue;
    for (const key of DISPLAY_MEMBERS)
      parts.push([key, displayedValueOf(key, Object.getOwnPropertyDescriptor(shared, key))]);
  }
  return parts;
}

/** In some versions of V8, one getter returns the stack of every error. */
const STACK_GETTER = Object.getOwnPropertyDescriptor(new Error(), "stack")?.get;

function displayedValueOf(key: PropertyKey, property: PropertyDescriptor | undefined): unknown {
  if (property?.get || property?.set) return UNKNOWN_VALUE;
  const isShowing = typeof property?.value === "function" && DISPLAY_MEMBERS.includes(key);
  return isShowing && !isNativeFunction(property.value) ? UNKNOWN_VALUE : property?.value;
}

/** A function of JavaScript itself, possibly of another realm (Jest runs each test file in one of its own). */
const isNativeFunction = (value: unknown) => /\{\s*\[native code\]\s*\}$/.test(Function.prototype.toString.call(value));
