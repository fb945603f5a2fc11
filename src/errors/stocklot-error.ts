import { messageOf } from "./message-of.js";
import { redact, redactCause } from "./redact.js";

/** Where a class keeps its brand: on the prototype, so that a user's own subclass has none of its own. */
const BRAND = Symbol.for("stocklot.error");

/** Says where in a value something is wrong, and what. */
export interface Issue {
  /** The way to the field; empty when the value as a whole is meant. */
  path: (string | number)[];
  message: string;
}

/**
 * The root of all errors that this package throws. Its subclasses are recognised by `instanceof` also when the ES module
 * and the CommonJS copy of the package are loaded in one process. No message, field or cause shows a secret.
 */
export abstract class StocklotError extends Error {
  static {
    brand(StocklotError, "StocklotError");
  }

  constructor(message: string, { cause }: { cause?: unknown } = {}) {
    super(redact(message), cause === undefined ? {} : { cause: redactCause(cause) });
  }

  static override [Symbol.hasInstance](value: unknown): boolean {
    // `this` is the class on the right of instanceof, not the root of the tree.
    if (!Object.hasOwn(this.prototype, BRAND)) return Function.prototype[Symbol.hasInstance].call(this, value);
    const own: unknown = Reflect.get(this.prototype, BRAND);
    for (let object: unknown = value; typeof object === "object" && object !== null; ) {
      if (Object.hasOwn(object, BRAND) && Reflect.get(object, BRAND) === own) return true;
      object = Object.getPrototypeOf(object);
    }
    return false;
  }

  /** The same as `error instanceof` this class: `TimeoutError.is(error)`. */
  static is<C extends abstract new (...args: never) => unknown>(this: C, error: unknown): error is InstanceType<C> {
    return error instanceof this;
  }

  /** What a log should keep: name, message, the fields of the class, and the cause in short. */
  toJSON(): Record<string, unknown> {
    return {
      name: this.name,
      message: this.message,
      ...Object.fromEntries(Object.entries(this).filter(([key]) => key !== "cause")),
      ...(this.cause === undefined ? {} : { cause: causeToJSON(this.cause) }),
    };
  }
}

/** Gives a class its name and the mark by which the other copy of the package knows it. */
export function brand(errorClass: { readonly prototype: object }, name: string): void {
  Object.defineProperty(errorClass.prototype, "name", { value: name, configurable: true, writable: true });
  Object.defineProperty(errorClass.prototype, BRAND, { value: name });
}

const IN_JSON = new Set(["string", "number", "boolean"]);

function causeToJSON(cause: unknown): unknown {
  if (cause instanceof StocklotError) return cause.toJSON();
  if (!(cause instanceof Error)) return cause === null || IN_JSON.has(typeof cause) ? cause : messageOf(cause);
  return { name: cause.name, message: cause.message, ...("code" in cause ? { code: cause.code } : {}) };
}
