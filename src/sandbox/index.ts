/**
 * The whole service in memory, to develop and test against.
 *
 * @module stocklot/sandbox
 */

export type { LoggedRequest } from "./activity.js";
export type { SandboxFetch } from "./adapters/fetch.js";
export type { ListenOptions, SandboxServer } from "./adapters/node-server.js";
export type { Fault, FaultRule } from "./faults.js";
export type {
  SandboxClient,
  SandboxItem,
  SandboxLot,
  SandboxOptions,
  SandboxRateLimit,
  SandboxStockLevel,
  SandboxWarehouse,
} from "./options/options.js";
export { createSandbox, type Sandbox } from "./sandbox.js";
