import { AsyncLocalStorage } from "node:async_hooks";

const context = new AsyncLocalStorage<object>();

/**
 * Files share a process, where clients of another file may still be at work. Returns whether what calls it belongs to the
 * calling test.
 */
export function enterOwnContext(): () => boolean {
  const own = context.getStore() ?? {};
  context.enterWith(own);
  return () => context.getStore() === own;
}
