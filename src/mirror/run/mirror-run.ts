import { publishMessage } from "../../core/telemetry/channels.js";
import type { MirrorRunEvent } from "../../core/telemetry/events.js";
import type { RateLimitSnapshot } from "../../limiter/rate-limiter.js";
import { monotonicNowMs } from "../../time/clock.js";
import { findAbandonedLists, type MirrorList } from "../copy/lists.js";
import type { LocalCopy } from "../copy/local-copy.js";
import { createDropReport, createMirrorReport, type ListReport, type MirrorReport, runKindOf } from "../report.js";
import { mirrorStatusOf } from "../status.js";
import type { ListSync } from "../sync/list-sync.js";

/** One run: updates lists, and records how it ended. */
export class MirrorRun {
  error: unknown;
  readonly #rateLimit: RateLimitSnapshot;
  readonly #startedAt = Date.now();
  readonly #startedAtMs = monotonicNowMs();
  /** Of the attempt that ended last: a run is tried again if another process has overtaken it. */
  #kind: MirrorReport["kind"] = "increment";
  #resources: MirrorRunEvent["resources"] = {};

  constructor(rateLimit: RateLimitSnapshot) {
    this.#rateLimit = rateLimit;
  }

  /**
   * Updates the copy.
   *
   * @param lists All lists of the mirror; the run reads those of `syncs`.
   * @param warehouses The option of the mirror.
   */
  async update(
    copy: LocalCopy,
    { lists, warehouses }: { lists: readonly MirrorList[]; warehouses: readonly number[] | undefined },
    syncs: readonly ListSync[],
  ): Promise<MirrorReport> {
    try {
      const abandoned = findAbandonedLists(Object.keys(copy.state.lists), warehouses);
      const reports = [...(await dropLists(copy, abandoned)), ...(await syncLists(syncs))];
      await this.#end(copy, lists, syncs);
      return createMirrorReport(reports, this.#durationMs, this.#rateLimit);
    } catch (error) {
      // That it cannot be saved matters less than why the run failed.
      await this.#end(copy, lists, syncs, error).catch(() => {});
      throw error;
    }
  }

  /** Reports the run to the diagnostics channel. */
  publish(): void {
    publishMessage("stocklot:mirror:run", () => ({
      kind: this.#kind,
      durationMs: this.#durationMs,
      ...(this.error !== undefined && { error: errorSummaryOf(this.error).name }),
      resources: this.#resources,
    }));
  }

  get #durationMs(): number {
    return monotonicNowMs() - this.#startedAtMs;
  }

  async #end(
    copy: LocalCopy,
    lists: readonly MirrorList[],
    syncs: readonly ListSync[],
    error?: unknown,
  ): Promise<void> {
    this.#kind = runKindOf(syncs.flatMap(({ readings }) => readings));
    const { resources } = mirrorStatusOf(copy.state, lists, Date.now());
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
