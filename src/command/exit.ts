import { InvalidArgumentError } from "commander";
import { ConfigurationError, InputValidationError, StocklotError } from "../shared/errors/index.js";
import { redact } from "../shared/errors/redact.js";
import { printable } from "./terminal.js";

export const EXIT = {
  success: 0,
  /** The command ran, and something failed, or needs a person's attention. */
  failure: 1,
  /** The arguments are wrong; nothing was done. */
  usage: 2,
  /** Everything was done before. */
  alreadyDone: 3,
  /** The plan is not empty. */
  somethingToDo: 4,
  /** Ctrl-C: 128 + the number of SIGINT. */
  interrupted: 130,
  /** The terminal was closed: 128 + the number of SIGHUP. */
  hungUp: 129,
  /** 128 + the number of SIGTERM. */
  terminated: 143,
} as const;

/**
 * A failure that a person can put right: its message is shown without a stack trace. By default, the arguments or the input
 * are wrong.
 */
export class CommandError extends Error {
  override readonly name = "CommandError";

  constructor(
    message: string,
    readonly exitCode: number = EXIT.usage,
  ) {
    super(message);
  }
}

export function exitCodeOf(error: unknown): number {
  if (error instanceof CommandError) return error.exitCode;
  const isRefused = error instanceof ConfigurationError || error instanceof InputValidationError;
  return isRefused ? EXIT.usage : EXIT.failure;
}

/**
 * Returns the text for standard error if a command fails. It is redacted, since an address instead of a file may have a
 * password. `path`: the file, which an error of reading, unlike an error of opening, does not contain.
 */
export const failureMessage = (error: unknown, path?: string): string => redact(describeFailure(error, path));

function describeFailure(error: unknown, path?: string): string {
  if (isSystemError(error)) return describeSystemError(error, path);
  if (error instanceof CommandError) return error.message;
  // In one line: after a line break, a text of the service could look like a line of this command.
  if (StocklotError.is(error)) return printable(forCommand(error.message).replace(/\s*[\r\n]\s*/g, " "));
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

/** Removes advice that only a program can follow. */
const forCommand = (message: string) =>
  message.replace(/,? or pass a dispatcher with (?:connect: \{ ca \}|[^.]*)(?=\.)/g, "");

/** An error of the file system or the network, for instance ENOENT. */
const isSystemError = (error: unknown): error is NodeJS.ErrnoException =>
  error instanceof Error && "code" in error && typeof error.code === "string" && /^E[A-Z]+$/.test(error.code);

const SYSTEM_ERRORS: Readonly<Record<string, string>> = {
  ENOENT: "no such file or folder. Check the path.",
  EACCES: "permission denied. Check the permissions of the file and its folder.",
  EISDIR: "it is a folder, not a file. Check the path.",
  ENOTDIR: "a part of the path is not a folder. Check the path.",
};

function describeSystemError({ code = "", message, ...error }: NodeJS.ErrnoException, path = error.path): string {
  const problem = SYSTEM_ERRORS[code];
  return path === undefined || problem === undefined ? message : `${path}: ${problem}`;
}

export function integerOption(min: number, max = Number.MAX_SAFE_INTEGER): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (/^\d+$/.test(text) && value >= min && value <= max) return value;
    const range = max === Number.MAX_SAFE_INTEGER ? `of at least ${min}` : `from ${min} to ${max}`;
    throw new InvalidArgumentError(`It must be an integer ${range}.`);
  };
}

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Parses an option that is a duration such as `30s` or `5m`; returns ms. */
export function durationOption(text: string): number {
  const [, amount, unit] = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/.exec(text) ?? [];
  const ms = Number(amount) * (UNITS[unit ?? ""] ?? Number.NaN);
  if (ms > 0) return ms;
  throw new InvalidArgumentError("It must be a duration such as 30s, 5m or 1h.");
}

/** Parses a list of names of fields such as `description,category`. */
export function namesOption(text: string): string[] {
  const names = text.split(",").map((name) => name.trim());
  if (names.includes("")) throw new InvalidArgumentError("It must be names of fields, separated by commas.");
  return names;
}

/**
 * Returns a signal that is aborted by Ctrl-C, SIGTERM or the end of the terminal (SIGHUP), with a `CommandError` as its
 * reason. The second Ctrl-C, SIGTERM or SIGHUP ends the process.
 */
export function interruptSignal(): AbortSignal {
  const controller = new AbortController();
  const interrupt = (exitCode: number) => controller.abort(new CommandError("interrupted", exitCode));
  process.once("SIGINT", () => interrupt(EXIT.interrupted));
  process.once("SIGTERM", () => interrupt(EXIT.terminated));
  process.once("SIGHUP", () => interrupt(EXIT.hungUp));
  return controller.signal;
}

/** Returns the error with which a command fails. After an interruption, its message says what to do next. */
export function failureOrInterruption(error: unknown, { reason }: AbortSignal, advice?: string): unknown {
  if (!(reason instanceof CommandError)) return error;
  return advice === undefined ? reason : new CommandError(`${reason.message}; ${advice}`, reason.exitCode);
}
