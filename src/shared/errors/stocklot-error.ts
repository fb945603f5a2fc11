import { fieldOf, messageOf } from "../unknown.js";
import { BrandedError, brandErrorClasses } from "./brand.js";
import { copyOfCause, redactStart } from "./redact.js";

const MAX_MESSAGE_LENGTH = 2_000;

/** One problem of a value: where it is and what is wrong. */
export interface Issue {
  /** The path to the field; empty for the value as a whole. */
  path: (string | number)[];
  /** What is wrong there, in English. */
  message: string;
  /** `key-conflict`: an outbox knows the key with another operation or input. A server may answer it with 409. */
  code?: "key-conflict";
}

/**
 * The root of all errors that this package throws. Its subclasses are recognised by `instanceof` also when the ES module
 * and the CommonJS copy of the package are loaded in one process. No message, field or cause shows a secret.
 */
export abstract class StocklotError extends BrandedError {
  /**
   * Whether the service has applied the write of the call: `no` also for a call that is no write. `unknown` if it was sent, and
   * no response proves what became of it.
   */
  readonly applied: "no" | "unknown" | "yes";

  constructor(
    message: string,
    { cause, applied = "no" }: { cause?: unknown; applied?: StocklotError["applied"] | undefined } = {},
  ) {
    super(redactStart(message, MAX_MESSAGE_LENGTH), cause === undefined ? {} : { cause: copyOfCause(cause) });
    this.applied = applied;
  }

  /** The same as `error instanceof` this class: `TimeoutError.is(error)`. */
  static is<C extends abstract new (...args: never) => unknown>(this: C, error: unknown): error is InstanceType<C> {
    return error instanceof this;
  }

  /** The error as data for a log: name, message, the fields of the class, and a short form of the cause. */
  toJSON(): Record<string, unknown> {
    const { name, message, cause } = this;
    const fields = Object.fromEntries(Object.entries(this));
    return { name, message, ...fields, ...(cause === undefined ? {} : { cause: causeToJSON(cause) }) };
  }
}

function causeToJSON(cause: unknown): unknown {
  if (cause instanceof StocklotError) return cause.toJSON();
  if (!(cause instanceof Error)) return messageOf(cause);
  return { name: cause.name, message: cause.message, code: fieldOf(cause, "code") };
}

brandErrorClasses({ StocklotError });
