import { asyncHooks } from "../../runtime/node-modules.js";
import { CHANNELS } from "./channels.js";

const AsyncLocalStorage = asyncHooks?.AsyncLocalStorage;

/** Runs a function in another async context, and returns its result. */
export type RunInContext = <T>(run: () => T) => T;

/**
 * Captures the async context of the caller, by which tracing finds the caller's span. Without a subscriber nothing is
 * captured.
 */
export function captureContext(): RunInContext {
  const isObserved = CHANNELS["stocklot:request"].hasSubscribers;
  return isObserved && AsyncLocalStorage ? AsyncLocalStorage.snapshot() : (run) => run();
}
