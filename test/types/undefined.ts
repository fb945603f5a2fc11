/** Compiled, never run: whatever can be left out can also be `undefined`, as a variable that may be unset is. */
import type { BottleneckRateLimiterOptions } from "stocklot/bottleneck";
import type { MirrorOptions, PostgresSinkOptions, RunOptions, SqliteSinkOptions, WatchOptions } from "stocklot/mirror";
import type { RedisRateLimiterOptions, RedisTokenStoreOptions } from "stocklot/redis";
import type {
  Fault,
  FaultRule,
  ListenOptions,
  SandboxClient,
  SandboxItem,
  SandboxLot,
  SandboxOptions,
  SandboxRateLimit,
  SandboxStockLevel,
  SandboxWarehouse,
} from "stocklot/sandbox";
import type {
  ClientOptions,
  CreateItemInput,
  CustomList,
  CustomRequest,
  FindOptions,
  Hooks,
  InventoryListParams,
  IssueInput,
  ItemChanges,
  ItemListParams,
  ListOptions,
  MoveInput,
  RateLimitOptions,
  ReceiveInput,
  RequestOptions,
  RetryOptions,
} from "../../src/index.js";

/** Names of the fields that can be left out, but cannot be `undefined`. */
type RefusesUndefined<T> = T extends unknown
  ? { [K in keyof T]-?: T extends Record<K, unknown> ? never : undefined extends Required<T>[K] ? never : K }[keyof T]
  : never;

/** The check itself: a field that refuses `undefined` is found. */
true satisfies RefusesUndefined<{ a: 1; b?: 1; c?: 1 | undefined }> extends "b" ? true : false;
true satisfies "b" extends RefusesUndefined<{ a: 1; b?: 1; c?: 1 | undefined }> ? true : false;

type OfClient =
  | ClientOptions
  | RequestOptions
  | FindOptions
  | ListOptions
  | RateLimitOptions
  | RetryOptions
  | Hooks
  | CustomRequest
  | CustomList
  | ItemListParams
  | InventoryListParams
  | ItemChanges
  | CreateItemInput
  | ReceiveInput
  | MoveInput
  | IssueInput;
type OfSandbox =
  | SandboxOptions
  | SandboxClient
  | SandboxWarehouse
  | SandboxItem
  | SandboxLot
  | SandboxStockLevel
  | SandboxRateLimit
  | FaultRule
  | Fault
  | ListenOptions;
type OfMirror = MirrorOptions | RunOptions | WatchOptions | SqliteSinkOptions | PostgresSinkOptions;
type OfOtherEntries = RedisRateLimiterOptions | RedisTokenStoreOptions | BottleneckRateLimiterOptions;

true satisfies [RefusesUndefined<OfClient | OfSandbox | OfMirror | OfOtherEntries>] extends [never] ? true : never;
