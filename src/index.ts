/**
 * The client: `InventoryClient`, its options, the inputs and results of its methods, and every error.
 *
 * @module stocklot
 */
// Everything else is private: the pipeline, the transports, the schemas, and the reading of pages.
export type { StoredToken, TokenStore } from "./auth/token-store.js";
export { InventoryClient } from "./client.js";
export type { RequestOptions, ResponseInfo } from "./core/request/options.js";
export type { Query } from "./core/request/payload.js";
export type { RetryOptions } from "./core/retry-policy.js";
export type {
  CallIdentity,
  ClientState,
  DiagnosticsMessages,
  EndEvent,
  FailedEvent,
  HookEvents,
  Hooks,
  Logger,
  MirrorCopyState,
  MirrorRunEvent,
  OutboxProgressEvent,
  QueuedEvent,
  RateLimitedEvent,
  RequestEvent,
  ResponseEvent,
  RetryEvent,
  SendingEvent,
  SlotEvent,
  StartEvent,
  TokenEvent,
  WaitingEvent,
} from "./core/telemetry/events.js";
export type { FetchLike } from "./core/transport/fetch.js";
export { type AnyStocklotError, isStocklotError, type StocklotErrorName } from "./errors/any-error.js";
export {
  ApiError,
  type ApiErrorInit,
  AuthenticationError,
  BadRequestError,
  ClientClosedError,
  ConfigurationError,
  ConflictError,
  ConnectionError,
  InputValidationError,
  type Issue,
  NotFoundError,
  NotImplementedError,
  OutcomeUnknownError,
  PaginationError,
  PermissionError,
  type PermissionReason,
  RateLimitError,
  ResponseValidationError,
  type SentRequest,
  ServerError,
  StocklotError,
  StorageError,
  type StorageErrorInit,
  type StorageProblem,
  TimeoutError,
  type TimeSpent,
  UnexpectedRemovalsError,
  ValidationError,
} from "./errors/index.js";
export { createRateLimiter } from "./limiter/create-rate-limiter.js";
export type { RateLimitOptions } from "./limiter/rate-limit-options.js";
export type { Priority, RateLimiter, RateLimitSnapshot } from "./limiter/rate-limiter.js";
export type { ClientOptions } from "./options.js";
export type { Checkpoint } from "./paging/checkpoint.js";
export type { ListOptions } from "./paging/list.js";
export type { Estimate, Page, PagingOptions, PagingProgress } from "./paging/page.js";
export type { Paginator } from "./paging/paginator.js";
export type { CustomList, CustomRequest } from "./resources/custom-endpoint.js";
export type { FoundItem } from "./resources/find/find-item.js";
export type { FoundReceipt } from "./resources/find/find-receipt.js";
export type { FindOptions } from "./resources/find/search-until-certain.js";
export type { Inventory, TransactionResult } from "./resources/inventory.js";
export type { ItemScope, ItemSearchOptions } from "./resources/item-lookup.js";
export type { CreatedItem, DiscontinuedItem, UpdatedItem } from "./resources/item-status.js";
export type { Items } from "./resources/items.js";
export { parseServiceDate } from "./schemas/date.js";
export type { StandardSchema } from "./schemas/standard-schema.js";
export type { Item } from "./service/item.js";
export type { CreateItemInput, ItemChanges } from "./service/item-input.js";
export type { InventoryListParams, ItemListParams, ListParams } from "./service/list-params.js";
export type { Lot } from "./service/lot.js";
export type { StockLevel } from "./service/stock-level.js";
export type { IssueInput, MoveInput, ReceiveInput } from "./service/transaction.js";
export { VERSION } from "./version.js";
