import { createHash } from "node:crypto";
import type { InventoryClient } from "../../client.js";
import { ConfigurationError, InputValidationError } from "../../errors/index.js";
import { fieldOf } from "../../errors/unknown-value.js";
import type { NewOutboxEntry, OutboxEntry } from "../../outbox/entry.js";
import { laneOf } from "../../outbox/new-entries.js";
import { createOutbox, type Outbox } from "../../outbox/outbox.js";
import { memoryStore } from "../../outbox/stores/memory-store.js";
import { checkMethodOptions } from "../../schemas/check.js";
import { mayTakeOver } from "../../storage/service.js";
import { callSafely } from "../../time/callback.js";
import { monotonicNowMs, startTimer } from "../../time/clock.js";
import { isSameValue } from "../compare.js";
import type { ItemChange, PlanContent } from "../document.js";
import { stateOfChange } from "./change-state.js";
import { applyOptionsSchema, type PlanApplyOptions, type PlanReport } from "./options.js";
import { PresentItems } from "./present-items.js";

/** No write is based on older data. */
const MAX_READING_AGE_MS = 600_000;
/** The part of that time that writes may take by the rate limit: failures and pauses take the rest. */
const WRITING_SHARE = 0.6;
const MAX_CHUNK = 5_000;
/** How far `modified` may be behind the `Date` header. */
const MAX_CLOCK_LAG_MS = 120_000;
const KEY_PREFIX = "plan-items/";
const MAX_KEY_LENGTH = 200;

export async function applyPlan(content: PlanContent, options: PlanApplyOptions): Promise<PlanReport> {
  checkMethodOptions("plan.apply", applyOptionsSchema, options);
  const { client, outbox, signal } = options;
  assertService(content, client);
  signal?.throwIfAborted();
  if (outbox) return new PlanApplication(content, options, outbox).run();
  const direct = createOutbox({ client, store: memoryStore() });
  try {
    return await new PlanApplication(content, options, direct).run();
  } finally {
    await direct.close();
  }
}

function assertService({ service }: PlanContent, { service: own }: InventoryClient): void {
  if (service.id === own.id || mayTakeOver(service.id, own)) return;
  throw new ConfigurationError(
    `plan.apply: the plan belongs to the service "${service.id}", and the client to "${own.id}". Nothing was sent. Make a plan for this service.`,
  );
}

/**
 * Applies a plan in chunks. Of each chunk, the items are read, then those that are as they were enter the outbox, then the
 * outbox runs. A chunk is as large as the rate limit allows to send while these data are fresh. If they become too old
 * before it is sent, the run is stopped and the items of its unsent changes are read again.
 *
 * The key of an entry consists of the plan's id and the SKU. So a change is in one of these states, also after a crash:
 *
 * | entry | next |
 * |---|---|
 * | none | read the item: `done`, `stale`, or add the entry |
 * | pending, never sent | read the item: leave it to the run, or cancel the entry: `done`, `stale` |
 * | pending or sending, under way | leave it to the run |
 * | applied | `done` |
 * | rejected | read the item: `done` (another process was faster), or reported |
 * | unknown, canceled | reported |
 */
class PlanApplication {
  readonly #content: PlanContent;
  readonly #outbox: Outbox;
  readonly #present: PresentItems;
  readonly #signal: AbortSignal | null | undefined;
  readonly #onProgress: PlanApplyOptions["onProgress"];
  readonly #chunkSize: number;
  readonly #startedAt = monotonicNowMs();
  readonly #report: Omit<PlanReport, "requests" | "durationMs"> = {
    applied: 0,
    stale: [],
    rejected: [],
    unknown: [],
    storedDifferently: [],
  };
  /** Changes that an entry has applied. */
  readonly #written: ItemChange[] = [];
  /** Keys of the changes that are done. */
  readonly #done = new Set<string>();
  #runRequests = 0;

  constructor(content: PlanContent, { client, signal, onProgress }: PlanApplyOptions, outbox: Outbox) {
    this.#content = content;
    this.#outbox = outbox;
    this.#signal = signal;
    this.#onProgress = onProgress;
    this.#present = new PresentItems(client, signal);
    const { share, intervalMs } = client.bulkAllowance;
    const writable = Math.floor((share * MAX_READING_AGE_MS * WRITING_SHARE) / intervalMs);
    this.#chunkSize = Math.max(1, Math.min(writable, MAX_CHUNK));
  }

  async run(): Promise<PlanReport> {
    const { changes } = this.#content;
    await this.#cancelOtherPlans();
    for (let start = 0; start < changes.length; start += this.#chunkSize) {
      await this.#applyChunk(changes.slice(start, start + this.#chunkSize));
    }
    await this.#compareStored();
    const requests = this.#present.requests + this.#runRequests;
    return { ...this.#report, requests, durationMs: monotonicNowMs() - this.#startedAt };
  }

  /** Unsent entries of other plans for the same items must not overwrite this one later. */
  async #cancelOtherPlans(): Promise<void> {
    const { id, changes } = this.#content;
    const lanes = new Set(changes.map(({ shortID }) => laneOf(shortID)));
    for await (const entry of this.#outbox.entries({ state: "pending" })) {
      const isOther = entry.key.startsWith(KEY_PREFIX) && !entry.key.startsWith(`${KEY_PREFIX}${id}/`);
      const isSent = entry.sentAt !== undefined;
      if (isOther && !isSent && lanes.has(laneOf(String(fieldOf(entry.input, "shortID"))))) {
        await this.#cancel(entry.key);
      }
    }
  }

  /** Returns false if another process has changed the entry meanwhile: it may have been sent. */
  async #cancel(key: string): Promise<boolean> {
    try {
      await this.#outbox.cancel(key);
      return true;
    } catch (error) {
      if (error instanceof InputValidationError) return false;
      throw error;
    }
  }

  async #applyChunk(chunk: readonly ItemChange[]): Promise<void> {
    let due: readonly ItemChange[] = chunk;
    while (due.length > 0) {
      const readAt = monotonicNowMs();
      const waiting = await this.#addEntries(due);
      const isComplete = waiting.length === 0 || (await this.#send(readAt));
      due = await this.#settle(waiting, isComplete);
    }
  }

  /** Reads the items of changes that are not under way, and adds entries. Returns the changes that have one. */
  async #addEntries(changes: readonly ItemChange[]): Promise<ItemChange[]> {
    const entries = new Map<ItemChange, OutboxEntry | undefined>();
    for (const change of changes) entries.set(change, await this.#outbox.get(this.#keyOf(change)));
    const unread = changes.filter((change) => {
      const entry = entries.get(change);
      return !entry || (entry.state === "pending" && entry.sentAt === undefined);
    });
    const items = await this.#present.read(
      unread.map(({ shortID }) => shortID),
      this.#content.items,
    );
    const added: NewOutboxEntry[] = [];
    const waiting = new Set(changes);
    for (const change of unread) {
      const state = stateOfChange(change, items.get(change.shortID));
      const isAdded = entries.get(change) !== undefined;
      if (state.kind === "due") {
        if (!isAdded) added.push(this.#entryOf(change));
        continue;
      }
      if (isAdded && !(await this.#cancel(this.#keyOf(change)))) continue;
      waiting.delete(change);
      if (state.kind === "done") this.#countApplied(change);
      else this.#reportAs("stale", change, state.reason);
    }
    await this.#outbox.addMany(added);
    return [...waiting];
  }

  /** Runs the outbox while the data are fresh. Returns whether the run has ended by itself. */
  async #send(readAt: number): Promise<boolean> {
    const aged = new AbortController();
    const remainingMs = MAX_READING_AGE_MS - (monotonicNowMs() - readAt);
    const stopTimer = startTimer(remainingMs, () =>
      aged.abort(new DOMException("The reading is too old.", "AbortError")),
    );
    const signal = this.#signal ? AbortSignal.any([this.#signal, aged.signal]) : aged.signal;
    try {
      const { requests } = await this.#outbox.run({ signal, onResult: ({ key }) => this.#markDone(key) });
      this.#runRequests += requests;
      return true;
    } catch (error) {
      if (error !== aged.signal.reason || this.#signal?.aborted) throw error;
      return false;
    } finally {
      stopTimer();
    }
  }

  /** Reports what became of the entries. Returns the changes whose entries were not sent in time. */
  async #settle(waiting: readonly ItemChange[], isComplete: boolean): Promise<ItemChange[]> {
    const unsent: ItemChange[] = [];
    for (const change of waiting) {
      const entry = await this.#outbox.get(this.#keyOf(change));
      const reason = String(fieldOf(entry?.error, "message") ?? "no reason was stored");
      if (entry?.state === "applied") {
        this.#countApplied(change);
        this.#written.push(change);
      } else if (entry?.state === "unknown") this.#reportAs("unknown", change, reason);
      else if (entry?.state === "canceled") this.#reportAs("stale", change, "its entry in the outbox was canceled");
      else if (entry?.state === "rejected") await this.#reportRejected(change, reason);
      else if (isComplete) this.#reportAs("rejected", change, `not sent: ${reason}. Apply the plan again.`);
      else unsent.push(change);
    }
    return unsent;
  }

  /** Two processes that apply one plan: what the other one has written is applied, and refused to this one. */
  async #reportRejected(change: ItemChange, reason: string): Promise<void> {
    const item = await this.#present.readOne(change.shortID);
    if (stateOfChange(change, item).kind === "done") this.#countApplied(change);
    else this.#reportAs("rejected", change, reason);
  }

  /** Reads the written items again, and reports the values that the service keeps in another form. */
  async #compareStored(): Promise<void> {
    const skus = this.#written.map(({ shortID }) => shortID);
    if (skus.length === 0) return;
    const { firstDate } = this.#present;
    const items =
      firstDate === undefined || skus.length < MIN_FOR_LIST
        ? new Map()
        : await this.#present.readModified(skus, firstDate - MAX_CLOCK_LAG_MS);
    for (const { shortID, fields } of this.#written) {
      const item = items.get(shortID) ?? (await this.#present.readOne(shortID));
      for (const [field, { before, after: sent }] of Object.entries(fields)) {
        const stored: unknown = (item && Reflect.get(item, field)) ?? null;
        const isSent = before !== sent;
        if (isSent && !isSameValue(sent, stored)) this.#report.storedDifferently.push({ shortID, field, sent, stored });
      }
    }
  }

  #entryOf(change: ItemChange): NewOutboxEntry {
    const { operation, shortID, fields } = change;
    const key = this.#keyOf(change);
    const changes = Object.fromEntries(Object.entries(fields).map(([name, { after }]) => [name, after]));
    return operation === "discontinue"
      ? { key, operation, input: { shortID } }
      : { key, operation, input: { ...changes, shortID } };
  }

  #keyOf({ shortID }: ItemChange): string {
    const key = `${KEY_PREFIX}${this.#content.id}/${shortID}`;
    if (key.length <= MAX_KEY_LENGTH) return key;
    return `${KEY_PREFIX}${this.#content.id}/sha256-${createHash("sha256").update(shortID).digest("hex")}`;
  }

  #reportAs(kind: "stale" | "rejected" | "unknown", change: ItemChange, reason: string): void {
    this.#report[kind].push({ shortID: change.shortID, reason });
    this.#markDone(this.#keyOf(change));
  }

  #countApplied(change: ItemChange): void {
    this.#report.applied += 1;
    this.#markDone(this.#keyOf(change));
  }

  /** The run also reports entries of others. */
  #markDone(key: string): void {
    if (!key.startsWith(`${KEY_PREFIX}${this.#content.id}/`) || this.#done.has(key)) return;
    this.#done.add(key);
    callSafely(() => this.#onProgress?.({ done: this.#done.size, total: this.#content.changes.length }));
  }
}

/** Fewer items are read singly, since the list of modified items takes two requests. */
const MIN_FOR_LIST = 3;
