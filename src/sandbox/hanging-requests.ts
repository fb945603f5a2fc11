import type { MessagePort } from "node:worker_threads";
import { workerThreads } from "../runtime/node-modules.js";

/**
 * Requests that never get a response. While there is one, the process stays alive, as with a real connection: the
 * caller's timeout may be an unreferenced timer, which does not keep the process alive.
 */
export class HangingRequests {
  private readonly ends = new Set<() => void>();
  // An open port keeps the process alive, and unlike a timer it is not affected by fake timers.
  private port: MessagePort | undefined;

  /** Never settles. The request ends when the signal is aborted. */
  add(signal: AbortSignal): Promise<never> {
    if (!signal.aborted) {
      const end = () => {
        signal.removeEventListener("abort", end);
        this.ends.delete(end);
        if (this.ends.size === 0) this.releaseProcess();
      };
      signal.addEventListener("abort", end);
      this.ends.add(end);
      this.port ??= this.openPort();
    }
    return new Promise(() => {});
  }

  /** No longer keeps the process alive for the requests that hang now. */
  endAll(): void {
    for (const end of [...this.ends]) end();
  }

  private openPort(): MessagePort | undefined {
    // Only Node.js, Bun and Deno end a process when nothing keeps it alive.
    const port = workerThreads && new workerThreads.MessageChannel().port1;
    port?.ref?.();
    return port;
  }

  private releaseProcess(): void {
    this.port?.close();
    this.port = undefined;
  }
}
