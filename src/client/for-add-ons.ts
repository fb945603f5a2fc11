/**
 * The door of the client for other rooms (`redis`, `bottleneck`, `opentelemetry`, `outbox`, `plan`, `mirror`,
 * `command`): they import this file and `client/index`, and no other file of the client.
 */
export { isServiceError } from "../shared/errors/service-error.js";
export { accountOf } from "./client.js";
export { receiptTexts } from "./find/find-receipt.js";
export type { LookedUpReceipt, LookUp, ReceiptLookup } from "./find/receipt-lookup.js";
export { wasWrittenAfter } from "./find/service-time.js";
export { type RateLimitSettings, rateLimitSchema, rateLimitSettings, UNLIMITED } from "./limiter/options.js";
export {
  countedSlots,
  marginMs,
  RateLimiter,
  type Slot,
  type SlotSource,
  SlotSourceFailed,
  type Wait,
} from "./limiter/rate-limiter.js";
export { durationOf, isListCheaper, requestsForItems, requestsForList } from "./lists/effort.js";
export { isSorted } from "./lists/sorted.js";
export type {
  AttemptEnd,
  CallEnd,
  CallInfo,
  CallObservation,
  ClientState,
  MethodInfo,
  MethodObservation,
} from "./observe/events.js";
export { instrument } from "./observe/observer.js";
export { onRetry } from "./send/attempt.js";
export { encodeJson } from "./send/payload.js";
export { GZIP_PROBLEM } from "./send/response.js";
export { aheadMsOf, serviceTimeBefore } from "./send/service-clock.js";
export { isLoopbackHost } from "./transport/agent.js";
