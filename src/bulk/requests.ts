import { aheadMsOf, serviceTimeBefore } from "../client/for-add-ons.js";
import type { InventoryClient, RequestOptions, ResponseInfo } from "../client/index.js";

/** Options of all requests of bulk work: other calls take precedence, and waiting for them is no failure. */
export const BACKGROUND = { priority: "low", totalTimeoutMs: Infinity } as const;

/** A client, and the options of the requests that are sent with it. */
export type ReadWith = Pick<BulkRequests, "client" | "options">;

interface BulkSettings extends Pick<RequestOptions, "signal" | "retry"> {
  client: InventoryClient;
  /** Counts the requests, with those of others that share it. */
  counter?: { requests: number };
}

/** Requests in the background that end with a signal. They are counted, and the first response shows the service's clock. */
export class BulkRequests {
  readonly client: InventoryClient;
  readonly options: RequestOptions;
  /** How many requests were sent, token requests excluded. */
  readonly counter: { requests: number };
  /** The service's clock when the first request was sent, or earlier, in ms since the epoch; `undefined` if responses have no `Date` header. */
  startedAt: number | undefined;
  /** How far the service's clock is ahead of the clock of this machine, in ms. */
  clockAheadMs: number | undefined;

  constructor({ client, signal, retry, counter = { requests: 0 } }: BulkSettings) {
    this.client = client;
    this.counter = counter;
    this.options = { ...BACKGROUND, signal, retry, onResponse: (response) => this.#observe(response) };
  }

  /** The same with further options for its requests. */
  with(more: Omit<RequestOptions, "onResponse">): ReadWith {
    return { client: this.client, options: { ...this.options, ...more } };
  }

  #observe(response: ResponseInfo): void {
    this.counter.requests += response.attempts;
    this.startedAt ??= serviceTimeBefore(response);
    this.clockAheadMs ??= aheadMsOf(response.headers);
  }
}
