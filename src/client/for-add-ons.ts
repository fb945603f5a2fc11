/**
 * The one door for what is built on the client: `redis`, `bottleneck`, `opentelemetry`, `outbox`, `plan`, `mirror` and
 * `command` import this and `client/index`, and nothing else of the client.
 */

export { isServiceError } from "../shared/errors/service-error.js";
export { judgeLots, type LotsOfItem, type ReceiptEvidence } from "./find/find-receipt.js";
export { isSameSku, isSameValue } from "./find/sent-write.js";
export { createQueueingLimiter } from "./limiter/queueing-limiter.js";
export { safetyMarginMs } from "./limiter/quota.js";
export {
  finiteRateLimitOptionsSchema,
  type RateLimitSettings,
  rateLimitSchema,
  rateLimitSettings,
  UNLIMITED_SETTINGS,
} from "./limiter/rate-limit-options.js";
export {
  type SlotCounts,
  type SlotKind,
  type SlotListener,
  type SlotSource,
  totalCountOf,
} from "./limiter/slot-source.js";
export { durationOf, requestsForList } from "./lists/effort.js";
export { afterEveryChange, probeModifiedSince } from "./lists/modified-since.js";
export { isSorted } from "./lists/sorted.js";
export {
  type ChannelName,
  hasDiagnosticsChannels,
  openChannel,
  publishMessage,
  subscribeToChannel,
} from "./observe/channels.js";
export { readServiceConnection, type ServiceConnection } from "./options.js";
export { type AttemptEnd, type AttemptJournal, attemptJournalSymbol } from "./send/attempt-journal.js";
export { parseJsonOrUndefined, readText } from "./send/body.js";
export { GZIP_PROBLEM, uncheckedAs } from "./send/decode.js";
export { findInexactNumbers } from "./send/inexact-numbers.js";
export { encodeJson } from "./send/payload.js";
export { dateHeaderMs, serviceTimeBefore } from "./send/service-clock.js";
export { describeProxy, findEnvironmentProxy, isLoopbackHost } from "./transport/proxy.js";
export { isSuccessStatus } from "./transport/transport.js";
