import { aheadMsOf, serviceTimeBefore } from "../client/for-add-ons.js";
import type { InventoryClient, RequestOptions, ResponseInfo } from "../client/index.js";

/** The options of bulk requests: other calls come first, and waiting for a slot has no time limit. */
export const BACKGROUND = { priority: "low", totalTimeoutMs: Infinity } as const;

/** A client and the options of its requests. */
export type ReadWith = Pick<BulkRequests, "client" | "options">;

interface BulkSettings extends Pick<RequestOptions, "signal" | "retry"> {
  client: InventoryClient;
  /** Counts the requests. Several objects may share one counter. */
  counter?: { requests: number };
}

/** A client and the options of bulk requests. Counts the requests, and reads the service's clock once. */
export class BulkRequests {
  readonly client: InventoryClient;
  readonly options: RequestOptions;
  /** How many requests were sent, token requests excluded. */
  readonly counter: { requests: number };
  /** The service's clock when the first request was sent, or earlier, in ms; `undefined` without a `Date` header. */
  serviceTimeAtStart: number | undefined;
  /** How far the service's clock is ahead of the clock of this machine, in ms. */
  clockAheadMs: number | undefined;

  constructor({ client, signal, retry, counter = { requests: 0 } }: BulkSettings) {
    this.client = client;
    this.counter = counter;
    this.options = { ...BACKGROUND, signal, retry, onResponse: (response) => this.#observe(response) };
  }

  /** Returns the client with further options. */
  with(more: Omit<RequestOptions, "onResponse">): ReadWith {
    return { client: this.client, options: { ...this.options, ...more } };
  }

  #observe(response: ResponseInfo): void {
    this.counter.requests += response.attempts;
    this.serviceTimeAtStart ??= serviceTimeBefore(response);
    this.clockAheadMs ??= aheadMsOf(response.headers);
  }
}
