import { createHash } from "node:crypto";
import { isStocklotError } from "../../errors/any-error.js";
import { ConfigurationError, InputValidationError } from "../../errors/index.js";
import { fieldOf } from "../../errors/unknown-value.js";
import type { NewOutboxEntry, OutboxEntry } from "../../outbox/entry.js";
import { laneOf } from "../../outbox/new-entries.js";
import { createOutbox, type Outbox } from "../../outbox/outbox.js";
import { memoryStore } from "../../outbox/stores/memory-store.js";
import { checkMethodOptions } from "../../schemas/check.js";
import type { Item } from "../../service/item.js";
import { mayTakeOver, type ServiceIdentity } from "../../storage/service.js";
import { callSafely } from "../../time/callback.js";
import { monotonicNowMs, startTimer } from "../../time/clock.js";
import type { ItemChange, PlanContent } from "../document.js";
import { stateOfChange } from "../items/change-state.js";
import { fieldValue, isSameValue } from "../items/compare.js";
import { PresentItems } from "../items/present-items.js";
import { applyOptionsSchema, type PlanApplyOptions, type PlanReport } from "./options.js";

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
  if (outbox) assertService(content, outbox);
  signal?.throwIfAborted();
  if (outbox) return new PlanApplication(content, options, outbox).run();
  const direct = createOutbox({ client, store: memoryStore() });
  try {
    return await new PlanApplication(content, options, direct).run();
  } finally {
    await direct.close();
  }
}

/** The client that reads and the one that writes. An outbox without a client rejects its run. */
function assertService({ service }: PlanContent, { service: own }: { service: ServiceIdentity | undefined }): void {
  if (!own || service.id === own.id || mayTakeOver(service.id, own)) return;
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
 * | rejected, or sent with an uncertain outcome | read the item: `done`, or reported |
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
  readonly #written: { change: ItemChange; appliedAt: number }[] = [];
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
    this.#report.storedDifferently.push(...this.#content.storedForms);
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
      const reason = String(fieldOf(entry?.error, "message") ?? "").replace(/\.+$/, "");
      if (entry?.state === "applied") {
        this.#countApplied(change);
        this.#written.push({ change, appliedAt: entry.settledAt ?? Date.now() });
      } else if (entry?.state === "unknown") this.#reportAs("unknown", change, reason);
      else if (entry?.state === "canceled") this.#reportAs("stale", change, "its entry in the outbox was canceled");
      else if (entry?.state === "rejected") await this.#countOrReport("rejected", change, reason);
      else if (!isComplete) unsent.push(change);
      else if (entry?.sentAt !== undefined || entry?.state === "sending") {
        await this.#countOrReport(
          "unknown",
          change,
          `sent, without a certain outcome (${reason}). Apply the plan again`,
        );
      } else this.#reportAs(...(await this.#whyNotSent(change, reason)));
    }
    return unsent;
  }

  /** The service may have applied it anyway, or another process has. */
  async #countOrReport(kind: "rejected" | "unknown", change: ItemChange, reason: string): Promise<void> {
    const item = await this.#present.readOne(change.shortID);
    if (stateOfChange(change, item).kind === "done") this.#countApplied(change);
    else this.#reportAs(kind, change, reason);
  }

  /** Behind an entry with unknown outcome, or known not to have been applied. */
  async #whyNotSent(change: ItemChange, reason: string): Promise<["rejected" | "unknown", ItemChange, string]> {
    for await (const { key } of this.#outbox.entries({ state: "unknown", item: change.shortID })) {
      return [
        "unknown",
        change,
        `not sent: it waits for the entry "${key}", whose outcome is unknown. Resolve that first`,
      ];
    }
    return ["rejected", change, `not sent${reason === "" ? "" : ` (${reason})`}. Apply the plan again`];
  }

  /**
   * Reads the written items again, and reports the values that the service keeps in another form. A failure must not take
   * the report with it.
   */
  async #compareStored(): Promise<void> {
    try {
      const items = await this.#readWritten();
      for (const { change, appliedAt } of this.#written) {
        const item = items.get(change.shortID) ?? (await this.#present.readOne(change.shortID));
        if (!item || (change.operation === "discontinue" && !item.discontinued)) {
          this.#report.applied -= 1;
          this.#reportAs(
            "unknown",
            change,
            item ? "it was applied, but is not discontinued" : "it was applied, but is missing",
          );
        } else if (!this.#present.isModifiedAfter(item, appliedAt)) this.#reportStoredForms(change, item);
      }
    } catch (error) {
      this.#signal?.throwIfAborted();
      if (!isStocklotError(error)) throw error;
    }
  }

  #readWritten(): Promise<Map<string, Item>> | Map<string, Item> {
    const skus = this.#written.map(({ change }) => change.shortID);
    const { firstDate } = this.#present;
    if (firstDate === undefined || skus.length < MIN_FOR_LIST) return new Map();
    return this.#present.readModified(skus, firstDate - MAX_CLOCK_LAG_MS);
  }

  #reportStoredForms({ shortID, operation, fields }: ItemChange, item: Item): void {
    if (operation === "discontinue") return;
    for (const [field, { after: sent }] of Object.entries(fields)) {
      const stored = fieldValue(item, field);
      if (!isSameValue(sent, stored)) this.#report.storedDifferently.push({ shortID, field, sent, stored });
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
