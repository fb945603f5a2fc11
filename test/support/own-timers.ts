import { AsyncLocalStorage } from "node:async_hooks";
import { vi } from "vitest";

const test = new AsyncLocalStorage<Set<unknown>>();

/**
 * Installs fake timers, and returns how many of them the calling test has set and are left. Files share a process: clients of
 * another one that still wait set fake timers, too.
 */
export function useCountedTimers(): () => number {
  vi.useFakeTimers();
  const own = new Set<unknown>();
  test.enterWith(own);
  const { setTimeout, clearTimeout } = globalThis;
  const setCounted = (callback: (...values: unknown[]) => void, delayMs?: number, ...values: unknown[]) => {
    const timer = setTimeout(() => {
      own.delete(timer);
      callback(...values);
    }, delayMs);
    if (test.getStore() === own) own.add(timer);
    return timer;
  };
  const clearCounted: typeof clearTimeout = (timer) => {
    own.delete(timer);
    clearTimeout(timer);
  };
  vi.stubGlobal("setTimeout", setCounted);
  vi.stubGlobal("clearTimeout", clearCounted);
  return () => own.size;
}
