import { TimeoutError } from "../../shared/errors/index.js";
import { onAbort } from "../../shared/time/abort.js";
import { monotonicNowMs } from "../../shared/time/clock.js";
import { sleep } from "../../shared/time/wait.js";
import type { Priority, RateLimiter } from "../limiter/rate-limiter.js";
import type { RequestGroup } from "../send/requester.js";

/*
 * Which searches may begin. Slots are given to requests, but only a whole search is worth anything: if 60 searches begin with
 * slots for 20 of them, nobody is answered.
 *
 *   begun      the search sends requests. What it will still send is promised to it
 *   in turn    without `totalTimeoutMs`: it waits until its slots are free, behind those that came before
 *   waiting    with `totalTimeoutMs`: its slots would come too late, if those that have begun need what was promised to them.
 *              They may need less, so it waits for a second at most; then it is refused, with nothing sent
 *
 * Searches that send the same requests are one: only the first one needs slots.
 */

/** How long a search waits for others that may need fewer requests than was expected. */
const MAX_ADMISSION_WAIT_MS = 1_000;
/** How often it is asked again, if nothing has ended. */
const ASK_AGAIN_MS = 250;
/** The weight of the last search in the usual time of one request. */
const LAST_WEIGHT = 0.2;

/** A search that asks to begin. */
export interface SearchRequest {
  /** Method and path, the start of messages. */
  label: string;
  /** Equal for searches that share all their requests. */
  key: string;
  /** How many requests it will probably send. */
  requests: number;
  priority: Priority;
  group: RequestGroup;
}

/** One search, or several that share their requests. */
interface BegunSearch {
  /** The requests that are still promised to it. */
  left(): number;
  users: number;
}

/** Admits the searches of one client. */
export class Admission {
  readonly #limiter: RateLimiter;
  readonly #begun = new Map<string, BegunSearch>();
  /** Those in turn, in the order in which they came. */
  readonly #inTurn: object[] = [];
  /** Created when somebody waits: Workers allow none when a module is loaded. */
  #wake: AbortController | undefined;
  /** The usual time of one request, in ms. */
  #requestMs = 0;

  constructor(limiter: RateLimiter) {
    this.#limiter = limiter;
  }

  /**
   * Waits until the search may begin. Returns a function to call when it has ended.
   *
   * @throws TimeoutError if it would end too late; the reason of the signal.
   */
  async enter(search: SearchRequest): Promise<() => void> {
    if (search.group.lifetime.totalTimeoutMs === Infinity) await this.#waitInTurn(search);
    else await this.#waitForOthers(search);
    return this.#leaveLater(search);
  }

  /** Begins the search if it may, in one step: others ask at the same time. */
  #begins(search: SearchRequest, mayBegin: () => boolean): boolean {
    const { key, group, requests } = search;
    const joined = this.#begun.get(key);
    if (!joined && !mayBegin()) return false;
    const begun = joined ?? { users: 0, left: () => Math.max(1, requests - group.requests) };
    begun.users += 1;
    this.#begun.set(key, begun);
    return true;
  }

  /** After how many ms the last slot of a search is expected, behind what is promised to those that have begun. */
  #waitMs({ priority, requests }: SearchRequest): number {
    const promised = [...this.#begun.values()].reduce((sum, begun) => sum + begun.left(), 0);
    return this.#limiter.waitMs(priority, promised + requests - 1);
  }

  async #waitInTurn(search: SearchRequest): Promise<void> {
    const { lifetime } = search.group;
    const place = {};
    this.#inTurn.push(place);
    // One that needs more than the limit begins when no other search is under way.
    const mayBegin = () => this.#inTurn[0] === place && (this.#waitMs(search) === 0 || this.#begun.size === 0);
    try {
      while (!this.#begins(search, mayBegin)) {
        lifetime.throwIfAborted();
        await this.#change(lifetime);
      }
    } finally {
      this.#inTurn.splice(this.#inTurn.indexOf(place), 1);
      this.#notify();
    }
  }

  async #waitForOthers(search: SearchRequest): Promise<void> {
    const { lifetime } = search.group;
    const isInTime = () => this.#waitMs(search) + search.requests * this.#requestMs <= lifetime.remainingMs;
    const until = monotonicNowMs() + Math.min(MAX_ADMISSION_WAIT_MS, lifetime.remainingMs);
    while (!this.#begins(search, isInTime)) {
      lifetime.throwIfAborted();
      if (this.#begun.size === 0 || monotonicNowMs() >= until) throw this.#tooLate(search);
      await this.#change(lifetime);
    }
  }

  /** Waits until a search has ended, or for a moment. */
  #change(lifetime: RequestGroup["lifetime"]): Promise<void> {
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
    const retryAfterMs = Number.isFinite(waitMs) ? Math.ceil(waitMs) : undefined;
    const when = retryAfterMs === undefined ? "" : ` Try again in ${retryAfterMs} ms.`;
    const message =
      `${label}: not begun, nothing was sent: the search takes about ${requests} requests, and the rate limit allows the last of them ` +
      `later than totalTimeoutMs (${group.lifetime.totalTimeoutMs} ms).${when}`;
    return new TimeoutError(message, { clock: "totalTimeoutMs", retryAfterMs });
  }

  #leaveLater({ key, group }: SearchRequest): () => void {
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
      if (group.requests > 0) {
        const ms = (monotonicNowMs() - startedAt) / group.requests;
        this.#requestMs = this.#requestMs === 0 ? ms : (1 - LAST_WEIGHT) * this.#requestMs + LAST_WEIGHT * ms;
      }
      this.#notify();
    };
    const stop = onAbort(group.lifetime, leave);
    return leave;
  }
}
