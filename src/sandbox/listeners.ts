import type { LoggedRequest } from "./request-log.js";

/** A change of stock that has taken effect. */
export interface Transaction {
  readonly kind: "receive" | "move" | "issue";
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly clientId: string;
  readonly shortID: string;
  readonly units: number;
  readonly wid: number;
  /** The other warehouse of a move between warehouses. */
  readonly shipToWid?: number;
  /** The lot record that was created or changed. */
  readonly recNo: number;
}

export type EmitTransaction = (transaction: Transaction) => void;

/** Notified of what happens: the command's log, the page, and the caller's listeners. */
export interface SandboxListener {
  request?(entry: LoggedRequest): void;
  transaction?(transaction: Transaction): void;
  /** The sandbox was reset. */
  reset?(): void;
}

export class SandboxListeners {
  private readonly listeners = new Set<SandboxListener>();

  /** Returns a function that removes the watcher. */
  add(watcher: SandboxListener): () => void {
    this.listeners.add(watcher);
    return () => this.listeners.delete(watcher);
  }

  request(entry: LoggedRequest): void {
    for (const watcher of this.listeners) guarded(() => watcher.request?.(entry));
  }

  transaction(transaction: Transaction): void {
    for (const watcher of this.listeners) guarded(() => watcher.transaction?.(transaction));
  }

  reset(): void {
    for (const watcher of this.listeners) guarded(() => watcher.reset?.());
  }
}

/** A listener that throws or rejects must not change a response, but its author must learn of it. */
function guarded(notify: () => unknown): void {
  new Promise((resolve) => resolve(notify())).catch((error: unknown) => {
    const message = error instanceof Error ? error.message : String(error);
    process.emitWarning(`A listener of the sandbox failed: ${message}`);
  });
}
