/**
 * The whole service in memory, to develop and test against.
 *
 * @module stocklot/sandbox
 */
export { createSandbox, type Sandbox } from "./create-sandbox.js";
export type { SandboxFetch } from "./doors/fetch-door.js";
export type { FetchInput } from "./doors/fetch-request.js";
export type { ListenOptions, SandboxServer } from "./doors/listen.js";
export type { Fault, FaultRule, FaultShorthand } from "./faults/rule.js";
export type {
  SandboxClient,
  SandboxItem,
  SandboxLot,
  SandboxOptions,
  SandboxRateLimit,
  SandboxStockLevel,
  SandboxWarehouse,
  TransactionForm,
} from "./options.js";
export type { LoggedRequest } from "./request-log.js";
