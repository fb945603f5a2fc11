import { nodeUtil } from "../../runtime/node-modules.js";

/** These functions identify a value without running code of the caller's. Deno lacks some, Workers may lack all. */
const types: Partial<NonNullable<typeof nodeUtil>["types"]> = nodeUtil?.types ?? {};

/** The class of a value as plain JavaScript reports it. */
const classNameOf = (value: unknown) => Object.prototype.toString.call(value).slice("[object ".length, -1);

/** Without `types`, a Proxy cannot be recognised. */
export const isProxy: (value: unknown) => boolean = types.isProxy ?? (() => false);

export const isNativeError: (value: unknown) => value is Error =
  types.isNativeError ?? ((value): value is Error => classNameOf(value) === "Error");

export const isMap: (value: unknown) => boolean = types.isMap ?? ((value) => value instanceof Map);

export const isSet: (value: unknown) => boolean = types.isSet ?? ((value) => value instanceof Set);

export const isAnyArrayBuffer: (value: unknown) => value is ArrayBufferLike =
  types.isAnyArrayBuffer ?? ((value): value is ArrayBufferLike => /^(Shared)?ArrayBuffer$/.test(classNameOf(value)));

/** Values whose content cannot be inspected without running code. */
export function isOpaque(value: object): boolean {
  // The name of the class may be read by a getter of the caller's.
  if (!nodeUtil) return OPAQUE_CLASS_NAME_PATTERN.test(classNameOf(value));
  return OPAQUE_TYPES.some((isType) => isType?.(value));
}

const OPAQUE_CLASS_NAME_PATTERN =
  /^(Promise|WeakMap|WeakSet|Map Iterator|Set Iterator|Generator|AsyncGenerator|Number|String|Boolean|Symbol|BigInt|Module|RegExp)$/;

const OPAQUE_TYPES = [
  types.isProxy,
  types.isPromise,
  types.isWeakMap,
  types.isWeakSet,
  types.isMapIterator,
  types.isSetIterator,
  types.isGeneratorObject,
  types.isBoxedPrimitive,
  types.isModuleNamespaceObject,
  types.isRegExp,
  types.isExternal,
];
