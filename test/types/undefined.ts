/** Optional fields must accept `undefined`, the value of a variable that is not set. This file is compiled, but never run. */
import type { MirrorOptions, PostgresSinkOptions, RunOptions, SqliteSinkOptions, WatchOptions } from "stocklot/mirror";
import type { RedisRateLimiterOptions, RedisTokenStoreOptions } from "stocklot/redis";
import type * as sandbox from "stocklot/sandbox";
import type * as client from "../../src/index.js";

/** The names of the fields that can be left out, but cannot be `undefined`. */
type RefusesUndefined<T> = T extends unknown
  ? { [K in keyof T]-?: T extends Record<K, unknown> ? never : undefined extends Required<T>[K] ? never : K }[keyof T]
  : never;

/** Tests the check: it finds a field that refuses `undefined`. */
true satisfies RefusesUndefined<{ a: 1; b?: 1; c?: 1 | undefined }> extends "b" ? true : false;
true satisfies "b" extends RefusesUndefined<{ a: 1; b?: 1; c?: 1 | undefined }> ? true : false;

type OfClient =
  | client.ClientOptions
  | client.RequestOptions
  | client.FindOptions
  | client.ListOptions
  | client.RateLimitOptions
  | client.RetryOptions
  | client.Hooks
  | client.CustomRequest
  | client.CustomList
  | client.ItemListParams
  | client.InventoryListParams
  | client.ItemChanges
  | client.CreateItemInput
  | client.ReceiveInput
  | client.MoveInput
  | client.IssueInput;
type OfSandbox =
  | sandbox.SandboxOptions
  | sandbox.SandboxClient
  | sandbox.SandboxWarehouse
  | sandbox.SandboxItem
  | sandbox.SandboxLot
  | sandbox.SandboxStockLevel
  | sandbox.SandboxRateLimit
  | sandbox.FaultRule
  | sandbox.Fault
  | sandbox.ListenOptions;
type OfMirror = MirrorOptions | RunOptions | WatchOptions | SqliteSinkOptions | PostgresSinkOptions;
type OfOtherEntries = RedisRateLimiterOptions | RedisTokenStoreOptions;

true satisfies [RefusesUndefined<OfClient | OfSandbox | OfMirror | OfOtherEntries>] extends [never] ? true : never;
