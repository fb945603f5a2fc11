import { vi } from "vitest";
import { enterOwnContext } from "./own-context.js";

/** Installs fake timers, and returns how many of them the calling test has set and are left. */
export function useCountedTimers(): () => number {
  vi.useFakeTimers();
  const own = new Set<unknown>();
  const isOwn = enterOwnContext();
  const { setTimeout, clearTimeout } = globalThis;
  const setCounted = (callback: (...values: unknown[]) => void, delayMs?: number, ...values: unknown[]) => {
    const timer = setTimeout(() => {
      own.delete(timer);
      callback(...values);
    }, delayMs);
    if (isOwn()) own.add(timer);
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
