import type { Page, PageRequest, PageSession } from "../../../src/client/lists/page.js";
import type { Lot } from "./changing-list.js";

/** A request that waits until the test responds to it. */
export interface OpenRequest {
  request: PageRequest;
  isFurther: boolean;
  signal: AbortSignal;
  respond(page?: Partial<Page<Lot>>): Promise<void>;
  fail(error: unknown): Promise<void>;
}

/** Lets everything run that is ready to run. */
export const settle = () => new Promise<void>((resolve) => setImmediate(resolve));

/** A list of `size` lots whose responses the test sends one by one. */
export class ManualSource {
  readonly sent: OpenRequest[] = [];
  readonly #size: number;
  readonly #settings: Partial<PageSession<Lot>>;

  constructor(size: number, settings: Partial<PageSession<Lot>> = {}) {
    this.#size = size;
    this.#settings = settings;
  }

  /** Numbers of the requested pages, in order. */
  get pages(): number[] {
    return this.sent.map(({ request }) => request.page);
  }

  prepare(): PageSession<Lot> {
    const pageSize = this.#settings.pageSize ?? 10;
    return {
      label: "GET /Inventory",
      first: { page: 1, pageSize },
      pageSize,
      maxPageSize: 250,
      readAhead: 1,
      gapless: false,
      keyOf: (lot) => lot.recNo,
      ...this.#settings,
      fetch: (request, context) => this.fetch(request, context),
    };
  }

  fetch(request: PageRequest, { isFurther, signal }: { isFurther: boolean; signal: AbortSignal }): Promise<Page<Lot>> {
    return new Promise((resolve, reject) => {
      this.sent.push({
        request,
        isFurther,
        signal,
        respond: (page) => {
          resolve({ ...this.#page(request), ...page });
          return settle();
        },
        fail: (error) => {
          reject(error);
          return settle();
        },
      });
    });
  }

  /** Responds to the request for a page. */
  async respond(page: number, changes?: Partial<Page<Lot>>): Promise<void> {
    const open = this.sent.findLast(({ request }) => request.page === page);
    if (open === undefined) throw new Error(`Page ${page} was not requested.`);
    await open.respond(changes);
  }

  #page({ page, pageSize }: PageRequest): Page<Lot> {
    const value: Lot[] = [];
    const end = Math.min(page * pageSize, this.#size);
    for (let recNo = (page - 1) * pageSize + 1; recNo <= end; recNo += 1) value.push({ recNo });
    const pageCount = Math.ceil(this.#size / pageSize);
    return { value, totalCount: this.#size, page, pageSize, pageCount, hasMore: page < pageCount };
  }
}
