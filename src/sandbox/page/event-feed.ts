import type { ServerResponse } from "node:http";

/** Changes within this time are shown together. */
const EVENT_BATCH_MS = 150;

/** The rate window empties by itself, so the page is refreshed even when nothing happens. */
const PAGE_REFRESH_MS = 2000;

/** Sends what the page shows to every browser that listens, as server-sent events. Sets no timer while none listens. */
export class PageEventFeed {
  private readonly listeners = new Set<ServerResponse>();
  private batchTimer: NodeJS.Timeout | undefined;
  private refreshTimer: NodeJS.Timeout | undefined;

  constructor(private readonly read: () => unknown) {}

  addListener(response: ServerResponse): void {
    response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-store" });
    this.listeners.add(response);
    response.once("close", () => {
      this.listeners.delete(response);
      if (this.listeners.size === 0) this.close();
    });
    this.refreshTimer ??= setInterval(() => this.send(), PAGE_REFRESH_MS);
    this.send();
  }

  scheduleUpdate(): void {
    if (this.listeners.size > 0) this.batchTimer ??= setTimeout(() => this.send(), EVENT_BATCH_MS);
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
