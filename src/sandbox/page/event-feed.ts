import type { ServerResponse } from "node:http";

/** Changes within this time are shown together. */
const BATCH_MS = 150;

/** The rate window empties by itself, so the page is refreshed even when nothing happens. */
const REFRESH_MS = 2000;

/** Sends what the page shows to every browser that listens, as server-sent events. Sets no timer while none listens. */
export class EventFeed {
  private readonly listeners = new Set<ServerResponse>();
  private batchTimer: NodeJS.Timeout | undefined;
  private refreshTimer: NodeJS.Timeout | undefined;

  constructor(private readonly read: () => unknown) {}

  join(response: ServerResponse): void {
    response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-store" });
    this.listeners.add(response);
    response.once("close", () => {
      this.listeners.delete(response);
      if (this.listeners.size === 0) this.close();
    });
    this.refreshTimer ??= setInterval(() => this.send(), REFRESH_MS);
    this.send();
  }

  changed(): void {
    if (this.listeners.size > 0) this.batchTimer ??= setTimeout(() => this.send(), BATCH_MS);
  }

  close(): void {
    clearTimeout(this.batchTimer);
    clearInterval(this.refreshTimer);
    this.batchTimer = undefined;
    this.refreshTimer = undefined;
    for (const listener of this.listeners) listener.destroy();
    this.listeners.clear();
  }

  private send(): void {
    clearTimeout(this.batchTimer);
    this.batchTimer = undefined;
    const event = `data: ${JSON.stringify(this.read())}\n\n`;
    for (const listener of this.listeners) listener.write(event);
  }
}
