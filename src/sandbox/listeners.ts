import { messageOf } from "../errors/unknown-value.js";
import { callSafely } from "../time/callback.js";
import type { LoggedRequest } from "./request-log.js";

/** A receipt, move or issue that has taken effect. */
export interface StockTransaction {
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

export type EmitTransaction = (transaction: StockTransaction) => void;

/** Notified of what happens: the command's log, the page, and the caller's listeners. */
export interface SandboxListener {
  request?(logged: LoggedRequest): void;
  transaction?(transaction: StockTransaction): void;
  /** The sandbox was reset. */
  reset?(): void;
}

export class SandboxListeners {
  private readonly listeners = new Set<SandboxListener>();
  private readonly failed = new WeakSet<SandboxListener>();

  /** Returns a function that removes the listener. */
  add(listener: SandboxListener): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  request(logged: LoggedRequest): void {
    this.notify((listener) => listener.request?.(logged));
  }

  transaction(transaction: StockTransaction): void {
    this.notify((listener) => listener.transaction?.(transaction));
  }

  reset(): void {
    this.notify((listener) => listener.reset?.());
  }

  /** A listener that throws or rejects changes no response. Its first failure is printed as a warning. */
  private notify(call: (listener: SandboxListener) => unknown): void {
    for (const listener of this.listeners) {
      callSafely(
        () => call(listener),
        (error) => {
          if (this.failed.has(listener)) return;
          this.failed.add(listener);
          emitWarning(`A listener of the sandbox failed: ${messageOf(error)}`);
        },
      );
    }
  }
}

function emitWarning(message: string): void {
  if ("process" in globalThis) process.emitWarning(message);
  else console.warn(message);
}
