import { onAbort } from "../shared/time/abort.js";
import { startTimer } from "../shared/time/clock.js";

export type SqlValue = string | number | null;

/** The values of a row by column name. PostgreSQL returns numbers as strings. */
export type SqlRow = Readonly<Record<string, unknown>>;

/** Runs one command. `$1`, `$2` … stand for the values; each is used once. */
export type SqlQuery = (sql: string, values?: readonly SqlValue[]) => Promise<SqlRow[]>;

export interface TransactionOptions {
  /** Whether the transaction only reads: it takes no lock that a writer needs, and its errors mention no changes. */
  reads?: boolean | undefined;
  /**
   * How long one command may take on a server, in ms.
   * @default 60_000
   */
  timeoutMs?: number | undefined;
  /** Ends every wait for the database. The transaction then rejects with the reason of the signal. */
  signal?: AbortSignal | undefined;
}

/**
 * A database of SQLite or PostgreSQL. Commands are written once, in the SQL that both understand, with `RETURNING`,
 * `ON CONFLICT`, rows of `VALUES` and lists of placeholders. `kind` decides what differs.
 */
export interface SqlDatabase {
  readonly kind: "sqlite" | "postgres";
  /** Path or address, without user name and password. */
  readonly location: string;
  /**
   * Runs commands in one transaction. When the promise resolves, the changes are on disk. With SQLite, one transaction
   * writes at a time.
   *
   * @param work Runs the commands. It is called again if the transaction has to be retried. It must await nothing but
   * its commands.
   */
  transaction<T>(work: (query: SqlQuery) => Promise<T>, options?: TransactionOptions): Promise<T>;
  close(): Promise<void>;
}

/**
 * Returns the same database. Every wait for it (for a lock, a connection or a reply) also ends when the signal aborts.
 */
export const abortableBy = (database: SqlDatabase, signal: AbortSignal): SqlDatabase => ({
  kind: database.kind,
  location: database.location,
  transaction: (work, options = {}) =>
    database.transaction(work, {
      ...options,
      signal: options.signal ? AbortSignal.any([signal, options.signal]) : signal,
    }),
  close: () => database.close(),
});

/** Counts the requests in flight whose outcomes must still be stored. The parent counts them, too. */
export class InFlight {
  #count = 0;
  #whenNone: (() => void)[] = [];

  constructor(private readonly parent?: InFlight) {}

  /** Counts one more request. Returns the function that ends it; calling that function again changes nothing. */
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

  /** Calls the function once, as soon as no request is in flight. */
  whenNone(callback: () => void): void {
    if (this.#count === 0) callback();
    else this.#whenNone.push(callback);
  }
}

/** A signal that aborts `delayMs` after one of the signals that it follows. `stop` ends its timers and listeners. */
export class DelayedAbort {
  readonly #controller = new AbortController();
  readonly #stops: (() => void)[] = [];
  #isStopped = false;

  constructor(private readonly delayMs: number) {}

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Aborts `delayMs` after this signal has aborted and the requests in flight have ended. */
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

  abortNow(reason: unknown): void {
    this.stop();
    this.#controller.abort(reason);
  }
}

/** Returns the placeholders of a list or a row: `$1, $2, …`. */
export const placeholders = (count: number, from = 1): string =>
  Array.from({ length: count }, (_, index) => `$${from + index}`).join(", ");

/** Returns a quoted SQL identifier. The database keeps its letter case. */
export const quoteName = (name: string) => `"${name.replaceAll('"', '""')}"`;
