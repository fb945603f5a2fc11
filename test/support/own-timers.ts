import { AsyncResource } from "node:async_hooks";
import { onTestFinished, vi } from "vitest";
import { enterOwnContext } from "./own-context.js";

/** Installs fake timers for the calling test, and returns how many of them it has set and are left. */
export function useCountedTimers(options?: Parameters<typeof vi.useFakeTimers>[0]): () => number {
  vi.useFakeTimers(options);
  onTestFinished(() => void vi.useRealTimers());
  const own = new Set<unknown>();
  const isOwn = enterOwnContext();
  const { setTimeout, clearTimeout } = globalThis;
  const setCounted = (callback: (...values: unknown[]) => void, delayMs?: number, ...values: unknown[]) => {
    // As with real timers, in the context that set it, not in the one that advances the time.
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
  // Their own properties are needed to restore those of the runtime.
  globalThis.setTimeout = Object.assign(setCounted, setTimeout);
  globalThis.clearTimeout = Object.assign(clearCounted, clearTimeout);
  return () => own.size;
}
