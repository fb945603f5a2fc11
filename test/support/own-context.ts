import { AsyncLocalStorage } from "node:async_hooks";

interface Context {
  readonly parent: Context | undefined;
}

const contexts = new AsyncLocalStorage<Context>();

/**
 * Files share a process, where clients of an earlier test may still be at work. Returns whether what calls it belongs to the
 * calling test, or was caused by it.
 */
export function enterOwnContext(): () => boolean {
  // What runs after a test inherits its context, so each begins one of its own.
  const own: Context = { parent: contexts.getStore() };
  contexts.enterWith(own);
  return () => {
    let context = contexts.getStore();
    while (context && context !== own) context = context.parent;
    return context === own;
  };
}
