import type { MessagePort } from "node:worker_threads";
import { workerThreads } from "../runtime/node-modules.js";
import { onAbort } from "../time/abort.js";

/**
 * Requests that never get a response. While there is one, the process stays alive, as with a real connection: the
 * caller's timeout may be an unreferenced timer, which does not keep the process alive.
 */
export class HangingRequests {
  readonly #ends = new Set<() => void>();
  // An open port keeps the process alive, and unlike a timer it is not affected by fake timers.
  #port: MessagePort | undefined;

  /** Never resolves. The request ends when the signal is aborted. */
  add(signal: AbortSignal): Promise<never> {
    if (!signal.aborted) {
      const stop = onAbort(signal, () => end());
      const end = () => {
        stop();
        this.#ends.delete(end);
        if (this.#ends.size > 0) return;
        this.#port?.close();
        this.#port = undefined;
      };
      this.#ends.add(end);
      this.#port ??= openPort();
    }
    return new Promise(() => {});
  }

  /** No longer keeps the process alive for the requests that hang now. */
  endAll(): void {
    for (const end of [...this.#ends]) end();
  }
}

/** Only Node.js, Bun and Deno end a process when nothing keeps it alive; elsewhere there is no port. */
function openPort(): MessagePort | undefined {
  const port = workerThreads && new workerThreads.MessageChannel().port1;
  port?.ref?.();
  return port;
}
