import { MessageChannel, type MessagePort } from "node:worker_threads";

/**
 * Requests that are never answered. As long as there is one, the process stays alive, as it does while a real fetch
 * waits for its connection: a timeout of the caller's may be a timer that does not keep it alive by itself.
 */
export class HangingRequests {
  private readonly ends = new Set<() => void>();
  // An open port keeps the process alive, and unlike a timer it is none of the business of a test's fake timers.
  private port: MessagePort | undefined;

  /** Never settles. Ends when the signal fires. */
  hang(signal: AbortSignal): Promise<never> {
    if (!signal.aborted) {
      const end = () => {
        signal.removeEventListener("abort", end);
        this.ends.delete(end);
        if (this.ends.size === 0) this.releaseProcess();
      };
      signal.addEventListener("abort", end);
      this.ends.add(end);
      this.port ??= new MessageChannel().port1;
      this.port.ref();
    }
    return new Promise(() => {});
  }

  /** Stops keeping the process alive for what hangs now. */
  release(): void {
    for (const end of [...this.ends]) end();
  }

  private releaseProcess(): void {
    this.port?.close();
    this.port = undefined;
  }
}
