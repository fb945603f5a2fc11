import type { InventoryClient } from "../../client.js";
import type { RequestOptions, ResponseInfo } from "../../core/request/options.js";
import { isStocklotError } from "../../errors/any-error.js";
import { ApiError, ConnectionError, type StocklotError } from "../../errors/index.js";
import type { Page } from "../../paging/page.js";
import type { Paginator } from "../../paging/paginator.js";

/** A list of any records, of which one page is read. */
export type PageReader = Pick<Paginator<object>, "page">;

/** One page that was requested, or why there is none. */
export interface ProbedPage {
  page: Page<object> | undefined;
  /** The error response, or what made the body unusable. */
  error: StocklotError | undefined;
  response: ResponseInfo;
  /** When the response was there, in ms since the epoch. */
  receivedAt: number;
  /** From sending to the last byte, in ms: without waiting for a slot or a token. */
  durationMs: number;
}

/** Sends single reads, and keeps the responses. */
export class ServiceProbe {
  readonly pages: ProbedPage[] = [];
  /** Requests without a response, each with its path. */
  readonly withoutResponse: { path: string; error: ConnectionError }[] = [];
  /** Of the last response, from sending to the last byte, in ms. */
  lastDurationMs = 0;

  constructor(
    readonly client: InventoryClient,
    readonly signal: AbortSignal | undefined,
    /** Without a token there is nothing to examine. */
    readonly hasToken: () => boolean,
  ) {}

  /** Returns undefined if there is no response, but a token: other lists may respond. Rejects if nothing will work. */
  async page(
    path: string,
    open: (client: InventoryClient, options: RequestOptions) => PageReader,
  ): Promise<ProbedPage | undefined> {
    let response: ResponseInfo | undefined;
    let page: Page<object> | undefined;
    let error: StocklotError | undefined;
    const onResponse = (info: ResponseInfo) => {
      response = info;
    };
    try {
      page = await open(this.client, { signal: this.signal, retry: false, onResponse }).page();
    } catch (failure) {
      if (failure instanceof ConnectionError && this.hasToken()) {
        this.withoutResponse.push({ path, error: failure });
        return undefined;
      }
      if (!response || !isStocklotError(failure) || failure instanceof ConnectionError) throw failure;
      // Refused credentials end the examination, and so does the rate limit: the client would pause for a minute.
      if (failure instanceof ApiError && [401, 429].includes(failure.status)) throw failure;
      error = failure;
    }
    if (!response) throw new Error("the client reported no response");
    const probed = { page, error, response, receivedAt: Date.now(), durationMs: this.lastDurationMs };
    this.pages.push(probed);
    return probed;
  }
}
