import { AsyncResource } from "node:async_hooks";
import { onTestFinished, vi } from "vitest";
import { enterOwnContext } from "./own-context.js";

/** Installs fake timers. Returns a function that counts the timers that the calling test has set and that are still active. */
export function useCountedTimers(options?: Parameters<typeof vi.useFakeTimers>[0]): () => number {
  vi.useFakeTimers(options);
  onTestFinished(() => void vi.useRealTimers());
  const own = new Set<unknown>();
  const isOwn = enterOwnContext();
  const { setTimeout, clearTimeout } = globalThis;
  const setCounted = (callback: (...values: unknown[]) => void, delayMs?: number, ...values: unknown[]) => {
    // Runs the callback in the context that set the timer, as real timers do, not in the context that advances the time.
    const inContext = AsyncResource.bind(callback);
    const timer = setTimeout(() => {
      own.delete(timer);
      inContext(...values);
    }, delayMs);
    if (isOwn()) own.add(timer);
    return timer;
  };
  const clearCounted: typeof clearTimeout = (timer) => {
    own.delete(timer);
    clearTimeout(timer);
  };
  // Copies the properties of the fake functions, which are needed to restore the functions of the runtime.
  globalThis.setTimeout = Object.assign(setCounted, setTimeout);
  globalThis.clearTimeout = Object.assign(clearCounted, clearTimeout);
  return () => own.size;
}
