import { ConnectionError } from "../client/index.js";
import { canonicalJson } from "../shared/canonical-json.js";
import { InputValidationError, StocklotError } from "../shared/errors/index.js";
import { monotonicNowMs, startTimer } from "../shared/time/clock.js";
import { repeat } from "../shared/time/repeat.js";
import { sleep } from "../shared/time/wait.js";
import { messageOf, undefinedIf } from "../shared/unknown.js";
import { FailuresInARow } from "../writes/failures-in-a-row.js";
import { skuOfInput } from "../writes/operation.js";
import { entryOf, inputOf, newEntry, type OutboxEntry, type OutboxEntryInput, type StoredEntry } from "./entry.js";
import { withoutMark } from "./marks.js";
import { MAX_TAKEOVERS, type Outbox, type SenderAccess } from "./outbox.js";

/** The state of an outbox for a write that is to be added. */
export type KnownWrite =
  /**
   * `stored`, `other-input`: the key is stored, with the same operation and input, or with others. `blocked`: `entry` is an
   * earlier write of the item whose outcome is not known.
   */
  | { is: "stored" | "other-input" | "blocked"; entry: OutboxEntry }
  /** The key is new. `equals`: recent entries under other keys with the same operation and input that may be applied. */
  | { is: "new"; equals: OutboxEntry[] };

/** The result of booking. `equal`: nothing was added, since `entry` is equal and not among `besides`. */
export interface Booked {
  is: "booked" | "equal" | Exclude<KnownWrite["is"], "new">;
  entry: OutboxEntry;
}

/** If an equal write was added under another key within this time, in ms, it is most likely the same write. */
const EQUAL_WITHIN_MS = 24 * 3_600_000;
/** After a failure of the service or the database, the next attempt to settle waits for this many intervals. */
const INTERVALS_AFTER_FAILURE = 15;
/** The shortest delay between two attempts to settle an entry, in ms. */
const SETTLE_AGAIN_MS = 30_000;

const METHOD = "book";

/**
 * How long the call of a write waits for another call that is sending it, in ms. This is longer than the lease of a process
 * that was killed, and shorter than clients wait. A run may hold the lock for hours.
 */
const OTHER_CALL_MS = 45_000;

/** The store has failed after the write was added: the outcome is only in the store. */
class LostFromView extends StocklotError {
  constructor(cause: unknown) {
    super(messageOf(cause), { cause, applied: "unknown" });
  }
}

export interface BookOptions {
  signal: AbortSignal;
  /** When sending ends, by the monotonic clock. */
  until: number;
  /** Keys of equal entries that a person knows about: the write is wanted all the same. */
  besides: readonly string[];
}

/**
 * Books single writes for callers that wait for the outcome. Only the call that adds a write sends it, within the time of
 * the call. Otherwise the write is never sent.
 */
export class SingleWrites {
  constructor(private readonly outbox: Outbox) {}

  /**
   * Returns what the outbox knows about a write. If another call is sending the write, or was killed, this waits until no call
   * sends. By then, an entry that the other call has left pending is canceled.
   *
   * @throws InputValidationError if the write is wrong.
   */
  async find(given: OutboxEntryInput, signal: AbortSignal): Promise<KnownWrite> {
    const { isOfCall, ...known } = await readKnown(this.outbox, given);
    if (!isOfCall) return known;
    const enough = new AbortController();
    const stopTimer = startTimer(OTHER_CALL_MS, () => enough.abort());
    try {
      await this.outbox.whileSender(METHOD, AbortSignal.any([signal, enough.signal]), async () => {});
    } catch (error) {
      if (!enough.signal.aborted) throw error;
    } finally {
      stopTimer();
    }
    return readKnown(this.outbox, given);
  }

  /**
   * Adds a write and sends it, after the earlier writes of its item. Nothing is added if the key is known, if there is an equal
   * write that is not among `besides`, or if the item is blocked. No other process sends meanwhile. A write that is not sent by
   * `until` is canceled.
   */
  async book(given: OutboxEntryInput, { signal, until, besides }: BookOptions): Promise<Booked> {
    const outbox = this.outbox;
    const late = new AbortController();
    const reason = `${METHOD}: the write could not be sent within the time of the call. Nothing was added.`;
    const stopTimer = startTimer(until - monotonicNowMs(), () => late.abort(new DOMException(reason, "TimeoutError")));
    const ends = AbortSignal.any([signal, late.signal]);
    let booked: Booked | undefined;
    let isAdded = false;
    try {
      for (let begun = 0; !booked && begun < MAX_TAKEOVERS; begun += 1)
        await outbox.whileSender(METHOD, ends, async (access) => {
          booked = await reasonAgainst(outbox, given, { access, until, besides });
          if (booked || access.signal.aborted) return;
          isAdded = true;
          try {
            const [added] = await access.addBound([given]);
            const limits = { maxUncertain: 1, upTo: added?.sequence ?? 0 };
            await access.runItem(skuOfInput(given.input), until, new FailuresInARow(), limits);
          } finally {
            await cancelUnsent(outbox, [given]);
            const stored = await outbox.get(given.key);
            if (stored) booked = { is: "booked", entry: stored };
          }
        });
    } catch (error) {
      // If an entry was stored, it says more than the error.
      if (!booked) throw isAdded ? new LostFromView(error) : error;
    } finally {
      stopTimer();
    }
    if (booked) return booked;
    throw new ConnectionError(
      `${METHOD}: other processes took over the outbox again and again. Nothing was added. Try again.`,
    );
  }

  /** Stores that a person has refused a write, unless its key is known. The key stays refused. */
  async decline(given: OutboxEntryInput): Promise<OutboxEntry> {
    const reason = { name: "Refused", message: "A person has refused this write." };
    return entryOf(await this.outbox.addCanceled(METHOD, given, reason));
  }

  /** Settles entries that are `sending`, again and again until the signal aborts. */
  settle(everyMs: number, signal: AbortSignal, onError: (error: unknown) => void): Promise<void> {
    const settling = new Settling(this.outbox);
    return repeat({
      run: () => settling.round(signal),
      nextRunAt: () => monotonicNowMs() + everyMs,
      ends: [signal],
      onError(error) {
        onError(error);
        return sleep(INTERVALS_AFTER_FAILURE * everyMs, signal);
      },
    });
  }
}

async function readKnown(outbox: Outbox, given: OutboxEntryInput): Promise<KnownWrite & { isOfCall?: boolean }> {
  const wanted = newEntry(METHOD, given, false, []);
  return outbox.readOwn(METHOD, async (store) => {
    const stored = await store.get(wanted.key);
    if (stored) {
      const isSame = stored.inputHash === wanted.inputHash;
      const isOfCall = stored.boundTo !== null && (stored.state === "pending" || stored.state === "sending");
      return { is: isSame ? "stored" : "other-input", entry: entryOf(stored), isOfCall };
    }
    const equals: OutboxEntry[] = [];
    const comparable = comparableOf(wanted);
    for await (const other of store.list({ lane: wanted.lane, pruned: true })) {
      if (other.state === "unknown") return { is: "blocked", entry: entryOf(other) };
      const isRecent = Date.now() - other.addedAt < EQUAL_WITHIN_MS;
      if (!isRecent || other.state === "rejected" || other.state === "canceled") continue;
      const isEqual = other.input === null ? other.inputHash === wanted.inputHash : comparableOf(other) === comparable;
      if (isEqual) equals.push(entryOf(other));
    }
    return { is: "new", equals };
  });
}

/** Returns a text by which writes are compared: the same for all spellings of a SKU, with a mark or without. */
function comparableOf({
  key,
  operation,
  lane,
  input,
}: Pick<StoredEntry, "key" | "operation" | "lane" | "input">): string {
  const { remark, ...fields }: Record<string, unknown> = { ...inputOf({ key, input }), itemID: lane };
  const text = typeof remark === "string" ? withoutMark(remark) : "";
  return canonicalJson({ operation, input: text === "" ? fields : { ...fields, remark: text } });
}

/** Sends the earlier writes of the item. Then returns why the write may not be added; `undefined` if it may. */
async function reasonAgainst(
  outbox: Outbox,
  given: OutboxEntryInput,
  { access, until, besides }: Pick<BookOptions, "until" | "besides"> & { access: SenderAccess },
): Promise<Booked | undefined> {
  const upTo = await outbox.read((store) => store.lastPlace());
  await access.runItem(skuOfInput(given.input), until, new FailuresInARow(), { upTo });
  const known = await readKnown(outbox, given);
  if (known.is !== "new") return known;
  const unforeseen = known.equals.find(({ key }) => !besides.includes(key));
  if (unforeseen) return { is: "equal", entry: unforeseen };
  // An earlier write of the item could not be sent, and must be sent first.
  for (const state of ["pending", "sending"] as const)
    for await (const before of outbox.entries({ item: skuOfInput(given.input), state }))
      return { is: "blocked", entry: before };
  return undefined;
}

/** Cancels bound writes that were not sent: they would block the item until the next sender cancels them. */
export async function cancelUnsent(outbox: Outbox, writes: readonly OutboxEntryInput[]): Promise<void> {
  // Another process may have taken over and canceled the write first.
  const isCanceled = (error: unknown) => error instanceof InputValidationError;
  for (const { key } of writes)
    if ((await outbox.get(key))?.state === "pending") await outbox.cancel(key).catch(undefinedIf(isCanceled));
}

/**
 * Settles entries that are `sending`, and sends no pending entry. Each round holds the lock only for a moment. If an
 * entry had no further attempt between two rounds that are `settleMs` apart, its last attempt can no longer take
 * effect.
 */
class Settling {
  readonly #seen = new Map<string, { attempts: number; since: number; dueAt: number }>();

  constructor(private readonly outbox: Outbox) {}

  async round(signal: AbortSignal): Promise<void> {
    const isDue = (entry: StoredEntry) => (this.#seenOf(entry)?.dueAt ?? 0) <= monotonicNowMs();
    const before = await this.#sending();
    if (before.length === 0) this.#seen.clear();
    if (!before.some(isDue)) return;
    await this.outbox.whileSender("settle", signal, async (access) => {
      for (const entry of await this.#sending()) {
        if (access.signal.aborted) return;
        const now = monotonicNowMs();
        const { key, attempts } = entry;
        const seen = this.#seenOf(entry);
        if (!seen) this.#seen.set(key, { attempts, since: now, dueAt: now + access.settleMs });
        if (!seen || now < seen.dueAt) continue;
        seen.dueAt = now + Math.max(access.settleMs, SETTLE_AGAIN_MS);
        await access.settle(entry, seen.since);
      }
    });
  }

  #seenOf({ key, attempts }: StoredEntry) {
    const seen = this.#seen.get(key);
    return seen?.attempts === attempts ? seen : undefined;
  }

  #sending(): Promise<StoredEntry[]> {
    return this.outbox.read(async (store) => {
      const entries: StoredEntry[] = [];
      for await (const entry of store.list({ state: "sending" })) entries.push(entry);
      return entries;
    });
  }
}
