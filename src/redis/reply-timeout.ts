import { afterMs, race } from "../time/wait.js";

/** If Redis does not reply for this long, it is unreachable: a client that has lost its connection queues commands. */
const REPLY_TIMEOUT_MS = 1_000;

/** Ends a wait for Redis. */
export const afterReplyTimeout = afterMs(
  REPLY_TIMEOUT_MS,
  () => new Error(`Redis has not replied for ${REPLY_TIMEOUT_MS} ms`),
);

/** The reply of Redis, or an error if it takes too long. */
export const withReplyTimeout = <T>(reply: Promise<T>): Promise<T> => race(reply, afterReplyTimeout);
