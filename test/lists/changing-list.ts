import type { Page, PageRequest, PageSession } from "../../src/client/lists/page.js";
import { Paginator } from "../../src/client/lists/paginator.js";
import type { Random } from "../support/random.js";

export interface Lot {
  readonly recNo: number;
}

export interface ListBehaviour {
  /** Changes the list, just before a page is cut from it. */
  change?: (list: ChangingList) => void;
  /** The number of microtask turns before a page is cut, and again before the response. */
  delay?: () => number;
  /** The largest page size. A larger request is silently capped. */
  cap?: number;
  /** Returns the page to serve instead of the requested page. */
  serve?: (request: PageRequest) => PageRequest;
  /** Changes a response, or throws instead. `number` counts requests from 1. */
  respond?: (page: Page<Lot>, number: number) => Page<Lot>;
}

/** How to read a list: the first page to read, and the settings of the session. */
export type ListSettings = Partial<PageSession<Lot>> & { page?: number };

/** A request that waits until the test responds to it. */
export interface OpenRequest {
  request: PageRequest;
  signal: AbortSignal;
  respond(changes?: Partial<Page<Lot>>): Promise<void>;
  fail(error: unknown): Promise<void>;
}

/** Lets everything run that is ready to run. */
export const settle = () => new Promise<void>((resolve) => setImmediate(resolve));

/** How others change a list at each request. */
export interface Schedule {
  /** The most records that are removed and added one by one at a request. */
  remove: number;
  insert: number;
  /** At one in `burstEvery` requests, up to `burst` neighbouring records are removed, and likewise added. */
  burstEvery: number;
  burst: number;
  where: "anywhere" | "front" | "end";
}

/** Returns a function that changes a list by a schedule. The same seed makes the same changes. */
export function changeBy(
  { remove, insert, burstEvery, burst, where }: Schedule,
  random: Random,
): (list: ChangingList) => void {
  const place = (list: ChangingList) =>
    where === "front" ? 0 : where === "end" ? list.lots.length : random(list.lots.length + 1);
  return (list) => {
    for (let left = random(remove + 1); left > 0; left -= 1) list.remove(random(list.lots.length));
    for (let left = random(insert + 1); left > 0; left -= 1) list.insert(place(list));
    if (burst > 0 && random(burstEvery) === 0) list.remove(random(list.lots.length), random(burst + 1));
    if (burst > 0 && random(burstEvery) === 0) list.insert(place(list), random(burst + 1));
  };
}

/** A service with one list in memory, which changes while it is read. */
export class ChangingList {
  lots: Lot[];
  readonly requests: PageRequest[] = [];
  readonly aborted: PageRequest[] = [];
  readonly warnings: string[] = [];
  mostInFlight = 0;
  /** Whether requests wait until the test responds to them. */
  isHeld = false;
  /** All requests that were held, also those that have ended. */
  readonly held: OpenRequest[] = [];
  /** Lots that were in the list from the beginning and still are. */
  readonly constant: Set<Lot>;
  #inFlight = 0;
  #nextRecNo: number;
  readonly #behaviour: ListBehaviour;

  constructor(size: number, behaviour: ListBehaviour = {}) {
    this.lots = Array.from({ length: size }, (_, index) => Object.freeze({ recNo: index + 1 }));
    this.constant = new Set(this.lots);
    this.#nextRecNo = size + 1;
    this.#behaviour = behaviour;
  }

  insert(index: number, count = 1): void {
    const added = Array.from({ length: count }, () => Object.freeze({ recNo: this.#nextRecNo++ }));
    this.lots.splice(index, 0, ...added);
  }

  remove(index: number, count = 1): void {
    for (const lot of this.lots.splice(index, count)) this.constant.delete(lot);
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  /** Responds to the held request for a page. */
  async respond(page: number, changes?: Partial<Page<Lot>>): Promise<void> {
    const open = this.held.findLast(({ request }) => request.page === page);
    if (open === undefined) throw new Error(`Page ${page} was not requested.`);
    await open.respond(changes);
  }

  paginator({ page = 1, ...settings }: ListSettings = {}): Paginator<Lot> {
    const { pageSize = 250 } = settings;
    return new Paginator(() => ({
      label: "GET /Inventory",
      first: { page, pageSize },
      maxPageSize: 250,
      readAhead: 1,
      gapless: false,
      keyOf: (lot: Lot) => lot.recNo,
      warn: (message) => this.warnings.push(message),
      fetch: (request, { signal = new AbortController().signal }) => this.#fetch(request, signal),
      ...settings,
      pageSize: settings.gapless ? Math.max(25, pageSize) : pageSize,
    }));
  }

  async #fetch(request: PageRequest, signal: AbortSignal): Promise<Page<Lot>> {
    this.requests.push(request);
    if (this.isHeld) return this.#hold(request, signal);
    const number = this.requests.length;
    const { change, delay = () => 1, serve = (asked) => asked, respond = (page) => page } = this.#behaviour;
    this.#inFlight += 1;
    this.mostInFlight = Math.max(this.mostInFlight, this.#inFlight);
    try {
      await this.#turns(delay(), request, signal);
      change?.(this);
      const page = this.#cut(serve(request));
      await this.#turns(delay(), request, signal);
      return respond(page, number);
    } finally {
      this.#inFlight -= 1;
    }
  }

  #hold(request: PageRequest, signal: AbortSignal): Promise<Page<Lot>> {
    return new Promise((resolve, reject) => {
      const respond = (changes?: Partial<Page<Lot>>) => {
        resolve({ ...this.#cut(request), ...changes });
        return settle();
      };
      const fail = (error: unknown) => {
        reject(error);
        return settle();
      };
      this.held.push({ request, signal, respond, fail });
    });
  }

  #cut({ page, pageSize: requestedSize }: PageRequest): Page<Lot> {
    const pageSize = Math.min(requestedSize, this.#behaviour.cap ?? 250);
    const totalCount = this.lots.length;
    return Object.freeze({
      value: Object.freeze(this.lots.slice((page - 1) * pageSize, page * pageSize)) as Lot[],
      totalCount,
      page,
      pageSize,
      pageCount: Math.ceil(totalCount / pageSize),
      hasMore: page * pageSize < totalCount,
    });
  }

  async #turns(count: number, request: PageRequest, signal: AbortSignal): Promise<void> {
    for (let turn = 0; turn < count; turn += 1) {
      await undefined;
      if (signal.aborted) {
        this.aborted.push(request);
        throw signal.reason;
      }
    }
  }
}
