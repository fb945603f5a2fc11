import { onAbort } from "../../time/abort.js";
import { startTimer } from "../../time/timer.js";
import { Aborted, isRefusal, NoReply, postgresFailure } from "./postgres-failure.js";
import type { PostgresQuery, PostgresQueryable } from "./query.js";

export interface SessionSettings {
  /** Named in errors. */
  address: string;
  signal: AbortSignal | undefined;
  /** How long a command may take, in ms. */
  timeoutMs: number;
}

/** What was sent may still end after an abort, so that its outcome is known, in ms. */
const ABORT_GRACE_MS = 500;

/** How much longer than the server this side waits for the end of a command, in ms: the server's reason is the better one. */
const REPLY_MARGIN_MS = 5_000;

/** Sends commands on one connection. Failures are `StorageError`s, or the reason of the signal. */
export class Session implements PostgresQueryable {
  readonly #queryable: PostgresQueryable;
  readonly #settings: SessionSettings;
  /** True if the connection failed, so that it cannot be used any more. */
  isLost = false;

  constructor(queryable: PostgresQueryable, settings: SessionSettings) {
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
      return await inTime(this.#queryable.query(query), timeoutMs + REPLY_MARGIN_MS, signal);
    } catch (error) {
      this.isLost ||= !isRefusal(error);
      throw postgresFailure(error, address, mayBeStored);
    }
  }
}

/** The result of a promise; rejects after a time, and some time after the signal aborted. */
export function inTime<T>(promise: Promise<T>, limitMs: number, signal: AbortSignal | undefined): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const stops: (() => void)[] = [];
    const settle = (action: () => void) => {
      for (const stop of stops.splice(0)) stop();
      action();
    };
    const rejectAfter = (delayMs: number, error: unknown) =>
      stops.push(startTimer(delayMs, () => settle(() => reject(error))));
    const abort = () => rejectAfter(ABORT_GRACE_MS, new Aborted(signal?.reason));
    rejectAfter(limitMs, new NoReply(limitMs));
    if (signal?.aborted) abort();
    else if (signal) stops.push(onAbort(signal, abort));
    promise.then(
      (result) => settle(() => resolve(result)),
      (error: unknown) => settle(() => reject(error)),
    );
  });
}
