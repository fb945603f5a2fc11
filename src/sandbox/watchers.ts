import type { LoggedRequest } from "./request-log.js";
import type { Transaction } from "./transactions.js";

/** Whoever wants to see what happens as it happens: the command's log and the page. */
export interface Watcher {
  request?(entry: LoggedRequest): void;
  transaction?(transaction: Transaction): void;
  /** The sandbox is back at its beginning. */
  reset?(): void;
}

export class Watchers {
  private readonly watchers = new Set<Watcher>();

  /** Gives a function that ends the watching. */
  add(watcher: Watcher): () => void {
    this.watchers.add(watcher);
    return () => this.watchers.delete(watcher);
  }

  request(entry: LoggedRequest): void {
    for (const watcher of this.watchers) watcher.request?.(entry);
  }

  transaction(transaction: Transaction): void {
    for (const watcher of this.watchers) watcher.transaction?.(transaction);
  }

  reset(): void {
    for (const watcher of this.watchers) watcher.reset?.();
  }
}
