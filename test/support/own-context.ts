import { AsyncLocalStorage } from "node:async_hooks";

interface Context {
  readonly parent: Context | undefined;
}

const contexts = new AsyncLocalStorage<Context>();

/**
 * Begins a context for the calling test. Returns a function that tells whether its caller runs in this context or was started
 * from it. Test files share a process, in which clients of an earlier test may still be active.
 */
export function enterOwnContext(): () => boolean {
  // Code that runs after a test inherits the context of that test. So each test begins a new context.
  const own: Context = { parent: contexts.getStore() };
  contexts.enterWith(own);
  return () => {
    let context = contexts.getStore();
    while (context && context !== own) context = context.parent;
    return context === own;
  };
}
