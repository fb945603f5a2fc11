import { TimeoutError } from "../../shared/errors/index.js";
import { onAbort } from "../../shared/time/abort.js";
import { monotonicNowMs } from "../../shared/time/clock.js";
import { sleep } from "../../shared/time/wait.js";
import type { Priority, RateLimiter } from "../limiter/rate-limiter.js";
import type { RequestGroup } from "../send/requester.js";

/*
 * Decides which searches may begin. The limiter gives slots to requests, but a search is worth nothing unless all its requests
 * get one: if 60 searches begin and there are slots for 20, nobody is answered.
 *
 *   begun      The search sends requests. The requests that it will still send are promised to it.
 *   in turn    A search without `totalTimeoutMs` waits until its slots are free, behind the searches that came before.
 *   waiting    A search with `totalTimeoutMs` would get its slots too late if the begun searches used all promised
 *              requests. The begun searches may need fewer, so the search waits for up to a second. If its slots
 *              would still come too late, the search is rejected, and nothing was sent.
 *
 * The time that the requests take is expected from the searches that have ended. This evidence loses weight with time: if no
 * search may begin because the service was slow once, no further search would show that the service is fast again.
 *
 * Searches that send the same requests count as one search: only the first of them needs slots.
 */

/** How long a search waits for begun searches, which may need fewer requests than expected, in ms. */
const MAX_ADMISSION_WAIT_MS = 1_000;
/** How often a waiting search checks again whether it may begin, although no search has ended, in ms. */
const ASK_AGAIN_MS = 250;
/** The weight of the latest search in the average time per request, if the search before has just ended. */
const LAST_WEIGHT = 0.2;
/** The time after which the average counts half if no search has ended since, in ms. */
const HALF_LIFE_MS = 10_000;

export interface SearchRequest {
  /** Method and path, the start of messages. */
  label: string;
  /** Equal for all searches that share all their requests. */
  key: string;
  /** How many requests it will probably send. */
  requests: number;
  priority: Priority;
  group: RequestGroup;
}

/** One search, or several that share their requests. */
interface BegunSearch {
  /** Returns how many requests are still promised to the search. */
  left(): number;
  users: number;
}

export class Admission {
  readonly #begun = new Map<string, BegunSearch>();
  /** The searches in turn, in the order in which they came. */
  readonly #inTurn: object[] = [];
  /** Aborted when a search has ended. Created when a search waits, because Workers allow none while a module is loaded. */
  #wake: AbortController | undefined;
  /** The average time per request, in ms, and when the last search ended, by the monotonic clock. */
  #average = { ms: 0, at: -Infinity };

  constructor(private readonly limiter: RateLimiter) {}

  /**
   * Waits until the search may begin. Returns a function that must be called when the search has ended.
   *
   * @throws TimeoutError if the search would end too late; the reason of the signal if the signal aborts.
   */
  async enter(search: SearchRequest): Promise<() => void> {
    if (search.group.lifetime.totalTimeoutMs === Infinity) await this.#waitInTurn(search);
    else await this.#waitForOthers(search);
    return this.#createLeave(search);
  }

  /** Begins the search if it may begin. Check and begin are one step, because other searches check at the same time. */
  #tryToBegin(search: SearchRequest, mayBegin: () => boolean): boolean {
    const { key, group, requests } = search;
    const joined = this.#begun.get(key);
    if (!joined && !mayBegin()) return false;
    const begun = joined ?? { users: 0, left: () => Math.max(1, requests - group.requests) };
    begun.users += 1;
    this.#begun.set(key, begun);
    return true;
  }

  /**
   * Returns the time until the last slot of a search is expected, in ms, if the begun searches use all promised
   * requests.
   */
  #waitMs({ priority, requests }: SearchRequest): number {
    const promised = [...this.#begun.values()].reduce((sum, begun) => sum + begun.left(), 0);
    return this.limiter.waitMs(priority, promised + requests - 1);
  }

  /** How much the average counts: from 1, when a search has just ended, to 0. */
  get #weight(): number {
    return 0.5 ** ((monotonicNowMs() - this.#average.at) / HALF_LIFE_MS);
  }

  get #expectedRequestMs(): number {
    return this.#weight * this.#average.ms;
  }

  #noteTime(requestMs: number): void {
    const weight = this.#weight * (1 - LAST_WEIGHT);
    this.#average = { ms: weight * this.#average.ms + (1 - weight) * requestMs, at: monotonicNowMs() };
  }

  async #waitInTurn(search: SearchRequest): Promise<void> {
    const { lifetime } = search.group;
    const place = {};
    this.#inTurn.push(place);
    // A search that needs more requests than the limit allows begins when no other search is under way.
    const mayBegin = () => this.#inTurn[0] === place && (this.#waitMs(search) === 0 || this.#begun.size === 0);
    try {
      while (!this.#tryToBegin(search, mayBegin)) {
        lifetime.throwIfAborted();
        await this.#waitForChange(lifetime);
      }
    } finally {
      this.#inTurn.splice(this.#inTurn.indexOf(place), 1);
      this.#notify();
    }
  }

  async #waitForOthers(search: SearchRequest): Promise<void> {
    const { lifetime } = search.group;
    const isInTime = () => this.#waitMs(search) + search.requests * this.#expectedRequestMs <= lifetime.remainingMs;
    const until = monotonicNowMs() + Math.min(MAX_ADMISSION_WAIT_MS, lifetime.remainingMs);
    while (!this.#tryToBegin(search, isInTime)) {
      lifetime.throwIfAborted();
      if (this.#begun.size === 0 || monotonicNowMs() >= until) throw this.#tooLate(search);
      await this.#waitForChange(lifetime);
    }
  }

  /** Waits until a search has ended or changed the queue, at most `ASK_AGAIN_MS`. */
  #waitForChange(lifetime: RequestGroup["lifetime"]): Promise<void> {
    this.#wake ??= new AbortController();
    return sleep(ASK_AGAIN_MS, this.#wake.signal, lifetime);
  }

  #notify(): void {
    this.#wake?.abort();
    this.#wake = undefined;
  }

  #tooLate(search: SearchRequest): TimeoutError {
    const { label, requests, group } = search;
    const waitMs = this.#waitMs(search);
    // If slots are free, only the duration of the requests can be too long.
    const isSlow = waitMs === 0;
    const retryAfterMs = Number.isFinite(waitMs) && !isSlow ? Math.ceil(waitMs) : undefined;
    const why = isSlow
      ? `at about ${Math.round(this.#expectedRequestMs)} ms each, they take longer than`
      : "the rate limit allows the last of them only after";
    const when = retryAfterMs === undefined ? "" : ` Try again in ${retryAfterMs} ms.`;
    const message =
      `${label}: the search was not begun, and nothing was sent. It takes about ${requests} requests, and ${why} ` +
      `totalTimeoutMs (${group.lifetime.totalTimeoutMs} ms).${when}`;
    return new TimeoutError(message, { clock: "totalTimeoutMs", retryAfterMs });
  }

  #createLeave({ key, group }: SearchRequest): () => void {
    const startedAt = monotonicNowMs();
    let hasLeft = false;
    const leave = () => {
      if (hasLeft) return;
      hasLeft = true;
      stop();
      const begun = this.#begun.get(key);
      if (!begun) return;
      begun.users -= 1;
      if (begun.users > 0) return;
      this.#begun.delete(key);
      if (group.requests > 0) this.#noteTime((monotonicNowMs() - startedAt) / group.requests);
      this.#notify();
    };
    const stop = onAbort(group.lifetime, leave);
    return leave;
  }
}
