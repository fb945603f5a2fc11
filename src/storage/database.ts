import { onAbort } from "../shared/time/abort.js";
import { startTimer } from "../shared/time/clock.js";

/** A value of a command. */
export type SqlValue = string | number | null;

/** The values of a row by column name. PostgreSQL returns numbers as strings. */
export type SqlRow = Readonly<Record<string, unknown>>;

/** Runs one command. `$1`, `$2` … in it are its values, each in one place. */
export type SqlQuery = (sql: string, values?: readonly SqlValue[]) => Promise<SqlRow[]>;

/** How a transaction is run. */
export interface TransactionOptions {
  /** Whether it only reads: it then takes no lock that a writer needs, and its errors speak of reading. */
  reads?: boolean | undefined;
  /**
   * How long one command may take on a server, in ms.
   * @default 60_000
   */
  timeoutMs?: number | undefined;
  /** Ends every wait of the transaction, which then rejects with the reason of the signal. */
  signal?: AbortSignal | undefined;
}

/**
 * SQLite or PostgreSQL. Commands are written once, in the SQL that both understand: `RETURNING`, `ON CONFLICT`, rows of
 * `VALUES`, lists of placeholders. What differs is decided by `kind`.
 */
export interface SqlDatabase {
  readonly kind: "sqlite" | "postgres";
  /** Path or address, without user name and password. */
  readonly location: string;
  /**
   * Runs commands in one transaction that is on disk when it resolves. With SQLite, one that writes excludes all others that do.
   *
   * @param work Called again if the transaction has to be retried. It must await nothing but its commands.
   */
  transaction<T>(work: (query: SqlQuery) => Promise<T>, options?: TransactionOptions): Promise<T>;
  /** Closes files and connections. */
  close(): Promise<void>;
}

/** The same database, whose waits end when the signal aborts. */
export const endingWith = (database: SqlDatabase, signal: AbortSignal): SqlDatabase => ({
  kind: database.kind,
  location: database.location,
  transaction: (work, options = {}) =>
    database.transaction(work, {
      ...options,
      signal: options.signal ? AbortSignal.any([signal, options.signal]) : signal,
    }),
  close: () => database.close(),
});

/** Counts what is under way and must be stored at its end, also for a parent. */
export class InFlight {
  #count = 0;
  #whenNone: (() => void)[] = [];

  constructor(private readonly parent?: InFlight) {}

  /** Counts one more. Returns a function to call at its end, once or more often. */
  start(): () => void {
    this.#count += 1;
    const endOfParent = this.parent?.start();
    let hasEnded = false;
    return () => {
      if (hasEnded) return;
      hasEnded = true;
      this.#count -= 1;
      endOfParent?.();
      if (this.#count === 0) for (const callback of this.#whenNone.splice(0)) callback();
    };
  }

  /** Calls back once nothing is under way. */
  whenNone(callback: () => void): void {
    if (this.#count === 0) callback();
    else this.#whenNone.push(callback);
  }
}

/** A signal that aborts some time after one of others has. `stop` ends its timers and listeners. */
export class LateEnd {
  readonly #controller = new AbortController();
  readonly #stops: (() => void)[] = [];
  #isStopped = false;

  constructor(private readonly delayMs: number) {}

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Aborts `delayMs` after this signal, and after the end of what is in flight. */
  follow(signal: AbortSignal, inFlight?: InFlight): void {
    const startDelay = () => {
      if (this.#isStopped) return;
      this.#stops.push(startTimer(this.delayMs, () => this.#controller.abort(signal.reason)));
    };
    const begin = () => (inFlight ? inFlight.whenNone(startDelay) : startDelay());
    if (signal.aborted) begin();
    else this.#stops.push(onAbort(signal, begin));
  }

  stop(): void {
    this.#isStopped = true;
    for (const stop of this.#stops.splice(0)) stop();
  }

  /** Aborts now. */
  end(reason: unknown): void {
    this.stop();
    this.#controller.abort(reason);
  }
}

/** `$1, $2, …`: placeholders of a list, or of a row. */
export const placeholders = (count: number, from = 1): string =>
  Array.from({ length: count }, (_, index) => `$${from + index}`).join(", ");

/** A quoted SQL identifier: the database does not fold its letter case. */
export const quoteName = (name: string) => `"${name.replaceAll('"', '""')}"`;
