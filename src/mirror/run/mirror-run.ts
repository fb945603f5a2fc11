import { publishMessage } from "../../core/telemetry/channels.js";
import type { MirrorRunEvent } from "../../core/telemetry/events.js";
import type { RateLimitSnapshot } from "../../limiter/rate-limiter.js";
import { monotonicNowMs } from "../../time/clock.js";
import { findAbandonedLists, type MirrorList } from "../copy/lists.js";
import type { LocalCopy } from "../copy/local-copy.js";
import { mirrorStatusOf } from "../copy/status.js";
import { createDropReport, createMirrorReport, type ListReport, type MirrorReport, runKindOf } from "../report.js";
import type { ListSync } from "../sync/list-sync.js";

/** One run: updates lists, and records how it ended. */
export class MirrorRun {
  readonly #lists: readonly MirrorList[];
  readonly #warehouses: readonly number[] | undefined;
  readonly #rateLimit: RateLimitSnapshot;
  readonly #startedAt = Date.now();
  readonly #startedAtMs = monotonicNowMs();
  /** Of the attempt that ended last: a run is tried again if another process has overtaken it. */
  #kind: MirrorReport["kind"] = "increment";
  #resources: MirrorRunEvent["resources"] = {};

  /**
   * @param lists All lists of the mirror.
   * @param warehouses The option of the mirror.
   */
  constructor(lists: readonly MirrorList[], warehouses: readonly number[] | undefined, rateLimit: RateLimitSnapshot) {
    this.#lists = lists;
    this.#warehouses = warehouses;
    this.#rateLimit = rateLimit;
  }

  /** Does the work of the run, and reports its end to the diagnostics channel. */
  async published<T>(work: () => Promise<T>): Promise<T> {
    let failure: { error: string } | undefined;
    try {
      return await work();
    } catch (error) {
      failure = { error: errorSummaryOf(error).name };
      throw error;
    } finally {
      publishMessage("stocklot:mirror:run", () => ({
        kind: this.#kind,
        durationMs: this.#durationMs,
        ...failure,
        resources: this.#resources,
      }));
    }
  }

  /** Updates the lists of `syncs`, and removes those that were taken out of the option. */
  async update(copy: LocalCopy, syncs: readonly ListSync[]): Promise<MirrorReport> {
    try {
      await copy.emitPending();
      const abandoned = findAbandonedLists(Object.keys(copy.state.lists), this.#warehouses);
      const reports = [...(await dropLists(copy, abandoned)), ...(await syncLists(syncs))];
      await this.#end(copy, syncs);
      return createMirrorReport(reports, this.#durationMs, this.#rateLimit);
    } catch (error) {
      // That it cannot be saved matters less than why the run failed.
      await this.#end(copy, syncs, error).catch(() => {});
      throw error;
    }
  }

  get #durationMs(): number {
    return monotonicNowMs() - this.#startedAtMs;
  }

  async #end(copy: LocalCopy, syncs: readonly ListSync[], error?: unknown): Promise<void> {
    this.#kind = runKindOf(syncs.flatMap(({ readings }) => readings));
    const { resources } = mirrorStatusOf(copy.state, this.#lists, Date.now());
    for (const { list } of syncs) {
      const { records = 0, lagMs = null } = resources[list.resource] ?? {};
      this.#resources = { ...this.#resources, [list.resource]: { records, lagMs } };
    }
    await copy.endRun({
      startedAt: this.#startedAt,
      endedAt: Date.now(),
      kind: this.#kind,
      ...(error !== undefined && { error: errorSummaryOf(error) }),
    });
  }
}

/** Removes the records of lists that are not mirrored any more. */
async function dropLists(copy: LocalCopy, lists: readonly MirrorList[]): Promise<ListReport[]> {
  const reports: ListReport[] = [];
  for (const list of lists) {
    const startedAt = monotonicNowMs();
    const removed = await copy.drop(list);
    reports.push(createDropReport(list, removed, monotonicNowMs() - startedAt));
  }
  return reports;
}

async function syncLists(syncs: readonly ListSync[]): Promise<ListReport[]> {
  const reports: ListReport[] = [];
  // Changes of all lists come first: they also arrive if every run is interrupted in a full pass.
  for (const sync of syncs) await sync.readChanges();
  for (const sync of syncs) reports.push(await sync.finish());
  // Only now: the other lists are up to date.
  for (const { refusal } of syncs) if (refusal) throw refusal;
  return reports;
}

/** What is saved of an error. */
function errorSummaryOf(error: unknown): { name: string; message: string } {
  return error instanceof Error
    ? { name: error.name, message: error.message }
    : { name: typeof error, message: String(error) };
}
