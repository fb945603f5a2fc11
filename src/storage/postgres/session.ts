import { onAbort } from "../../time/abort.js";
import { startTimer } from "../../time/clock.js";
import { isRefusedByPostgres, NoReplyError, postgresStorageError, SessionAbortedError } from "./postgres-failure.js";
import type { PostgresQuery, PostgresQueryable } from "./query.js";

export interface PostgresSessionSettings {
  /** Named in errors. */
  address: string;
  signal: AbortSignal | undefined;
  /** How long a command may take, in ms. */
  timeoutMs: number;
}

/** Time after an abort in which a command that was sent may still end, so that its outcome is known, in ms. */
const REPLY_GRACE_AFTER_ABORT_MS = 500;

/** How much longer than the server this side waits for the end of a command, in ms: the server's reason is the better one. */
const REPLY_TIMEOUT_MARGIN_MS = 5_000;

/** Sends commands on one connection. Failures are `StorageError`s, or the reason of the signal. */
export class PostgresSession implements PostgresQueryable {
  readonly #queryable: PostgresQueryable;
  readonly #settings: PostgresSessionSettings;
  /** True if the connection failed, so that it cannot be used any more. */
  isLost = false;

  constructor(queryable: PostgresQueryable, settings: PostgresSessionSettings) {
    this.#queryable = queryable;
    this.#settings = settings;
  }

  query(query: PostgresQuery): Promise<{ rows: unknown[] }> {
    return this.send(query, { mayBeStored: false });
  }

  /** Sends a command. `mayBeStored`: it commits what it changes. */
  async send(query: PostgresQuery, { mayBeStored }: { mayBeStored: boolean }): Promise<{ rows: unknown[] }> {
    const { address, signal, timeoutMs } = this.#settings;
    try {
      return await rejectAfter(this.#queryable.query(query), timeoutMs + REPLY_TIMEOUT_MARGIN_MS, signal);
    } catch (error) {
      this.isLost ||= !isRefusedByPostgres(error);
      throw postgresStorageError(error, address, mayBeStored);
    }
  }
}

/** The result of a promise; rejects after a time, and some time after the signal aborted. */
export function rejectAfter<T>(promise: Promise<T>, limitMs: number, signal: AbortSignal | undefined): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const stops: (() => void)[] = [];
    const settle = (action: () => void) => {
      for (const stop of stops.splice(0)) stop();
      action();
    };
    const rejectAfter = (delayMs: number, error: unknown) =>
      stops.push(startTimer(delayMs, () => settle(() => reject(error))));
    const abort = () => rejectAfter(REPLY_GRACE_AFTER_ABORT_MS, new SessionAbortedError(signal?.reason));
    rejectAfter(limitMs, new NoReplyError(limitMs));
    if (signal?.aborted) abort();
    else if (signal) stops.push(onAbort(signal, abort));
    promise.then(
      (result) => settle(() => resolve(result)),
      (error: unknown) => settle(() => reject(error)),
    );
  });
}
