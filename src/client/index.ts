/**
 * The client: `InventoryClient`, its options, the inputs and results of its methods, and every error.
 *
 * @module stocklot
 */
// Everything else is private: the pipeline, the transports, the schemas, and the reading of pages.

export { parseServiceDate } from "../service/date.js";
export type { Item } from "../service/item.js";
export type { CreateItemInput, ItemChanges } from "../service/item-input.js";
export type { InventoryListParams, ItemListParams, ListParams } from "../service/list-params.js";
export type { Lot } from "../service/lot.js";
export type { StockLevel } from "../service/stock-level.js";
export type { IssueInput, MoveInput, ReceiveInput } from "../service/transaction.js";
export {
  ApiError,
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
  RateLimitError,
  ResponseValidationError,
  type SentRequest,
  ServerError,
  StocklotError,
  StorageError,
  TimeoutError,
  UnexpectedRemovalsError,
  ValidationError,
} from "../shared/errors/index.js";
export type { StandardSchema } from "../shared/standard-schema.js";
export { VERSION } from "../shared/version.js";
export type { StoredToken, TokenStore } from "./auth/token-store.js";
export { InventoryClient } from "./client.js";
export type { FoundItem } from "./find/find-item.js";
export type { FoundReceipt } from "./find/find-receipt.js";
export type { FindOptions } from "./find/look-until-certain.js";
export { createRateLimiter } from "./limiter/create-rate-limiter.js";
export type { RateLimitOptions } from "./limiter/options.js";
export type { Priority, RateLimiter, RateLimitSnapshot } from "./limiter/rate-limiter.js";
export type { ListOptions } from "./lists/list.js";
export type { Page, PagingOptions } from "./lists/page.js";
export type { Paginator } from "./lists/paginator.js";
export type { CallEvent, HookEvents, Hooks, Logger } from "./observe/events.js";
export type { ClientOptions } from "./options.js";
export type { CustomList, CustomRequest } from "./resources/custom-endpoint.js";
export type { Inventory, TransactionResult } from "./resources/inventory.js";
export type { CreatedItem, DiscontinuedItem, UpdatedItem } from "./resources/item-status.js";
export type { Items } from "./resources/items.js";
export type { ItemScope, ItemSearchOptions, StockLevelScope, StockLevelsScope } from "./search/search-options.js";
export type { Query } from "./send/payload.js";
export type { RequestOptions, ResponseInfo } from "./send/request-options.js";
export type { RetryOptions } from "./send/retry-options.js";
export type { FetchLike } from "./transport/fetch.js";
