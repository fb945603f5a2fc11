import { reportProgress } from "../../client/for-add-ons.js";
import type { RateLimitSnapshot } from "../../client/index.js";
import type { UnexpectedRemovalsError } from "../../shared/errors/index.js";
import { monotonicNowMs } from "../../shared/time/clock.js";
import { messageOf } from "../../shared/unknown.js";
import type { HistoryOption } from "../copy/history.js";
import type { LocalCopy } from "../copy/local-copy.js";
import { mirrorStatusOf } from "../copy/status.js";
import { createMirrorReport, type MirrorReport, runKindOf } from "../report.js";
import { type Begun, fillOrReadChanges, makeFullPassIfNeeded } from "../sync/list-sync.js";
import type { ListUpdate } from "../sync/list-update.js";
import type { MirrorList } from "../tables.js";

interface RunLists {
  updated: readonly ListUpdate[];
  /** Lists that are not mirrored any more. */
  dropped: readonly ListUpdate[];
  /** Whether changes are recorded from now on. */
  history: HistoryOption;
}

/** One run: updates lists, and records how it ended. */
export class MirrorRun {
  readonly #lists: readonly MirrorList[];
  readonly #rateLimit: RateLimitSnapshot;
  readonly #startedAt = Date.now();
  readonly #startedAtMs = monotonicNowMs();
  /** Of the attempt that ended last: a run is tried again if another process has overtaken it. */
  #kind: MirrorReport["kind"] = "increment";
  #resources: Record<string, { records: number; lagMs: number | null }> = {};

  /** @param lists All lists of the mirror. */
  constructor(lists: readonly MirrorList[], rateLimit: RateLimitSnapshot) {
    this.#lists = lists;
    this.#rateLimit = rateLimit;
  }

  /** Reports its end to instrumentations; `error` if it failed. */
  publishEnd(error?: unknown): void {
    reportProgress({
      source: "mirror",
      kind: this.#kind,
      durationMs: this.#durationMs,
      ...(error !== undefined && { error: errorSummaryOf(error).name }),
      lists: this.#resources,
    });
  }

  async update(copy: LocalCopy, lists: RunLists): Promise<MirrorReport> {
    try {
      await copy.begin(lists.history);
      await updateLists(lists);
      await this.#end(copy, lists);
      const reports = [...lists.dropped, ...lists.updated].map((update) => update.report());
      return createMirrorReport(reports, this.#durationMs, this.#rateLimit);
    } catch (error) {
      // That it cannot be saved matters less than why the run failed.
      await this.#end(copy, lists, error).catch(() => {});
      throw error;
    }
  }

  get #durationMs(): number {
    return monotonicNowMs() - this.#startedAtMs;
  }

  async #end(copy: LocalCopy, { updated }: RunLists, error?: unknown): Promise<void> {
    this.#kind = runKindOf(updated.flatMap(({ modes }) => modes));
    const { resources } = mirrorStatusOf(copy.state, this.#lists, Date.now());
    for (const { list } of updated) {
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

async function updateLists({ updated, dropped }: RunLists): Promise<void> {
  for (const update of dropped) {
    await update.measure(async () => {
      update.counts.removed = await update.copy.drop(update.list);
    });
  }
  // Changes of all lists come first: they also arrive if every update is interrupted in a full pass.
  const begun: Begun[] = [];
  for (const update of updated) begun.push(await fillOrReadChanges(update));
  const refusals: (UnexpectedRemovalsError | undefined)[] = [];
  for (const list of begun) refusals.push(await makeFullPassIfNeeded(list));
  // Only now: the other lists are up to date.
  for (const refusal of refusals) if (refusal) throw refusal;
}

/** What is saved of an error. */
const errorSummaryOf = (error: unknown) => ({
  name: error instanceof Error ? error.name : typeof error,
  message: messageOf(error),
});
