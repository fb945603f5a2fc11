/**
 * The one door for what is built on the client: `redis`, `bottleneck`, `opentelemetry`, `outbox`, `plan`, `mirror` and
 * `command` import this and `client/index`, and nothing else of the client.
 */

export { isServiceError } from "../shared/errors/service-error.js";
export type { OtherReceipts, ReceiptSearchResult } from "./find/find-receipt.js";
export type { SentCreation, SentReceipt } from "./find/sent-request.js";
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
export {
  countPagesAndRequests,
  estimateFromForecast,
  forecastDurationMs,
  type ListForecast,
} from "./lists/estimate.js";
export { afterEveryChange, probeModifiedSince } from "./lists/modified-since.js";
export { SeenKeys } from "./lists/seen-keys.js";
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
