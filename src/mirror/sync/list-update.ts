import type { InventoryClient } from "../../client/index.js";
import { serviceTimeMs } from "../../service/date.js";
import { monotonicNowMs } from "../../shared/time/clock.js";
import { fieldOf } from "../../shared/unknown.js";
import type { LocalCopy } from "../copy/local-copy.js";
import { awaitsFullPass, type ListState, reportedDifference } from "../copy/state.js";
import type { ListReport, MirrorProgress, MirrorReadMode } from "../report.js";
import type { MirrorList, NumberedRecord } from "../tables.js";
import { type ListedPage, type ListPages, ListReader } from "./list-reader.js";

/** What the caller asks of a run. */
export interface SyncSettings {
  signal: AbortSignal | undefined;
  onProgress: ((progress: MirrorProgress) => unknown) | undefined;
  /** Everything is to be read. */
  full: boolean;
  fullPassEveryMs: number;
  overlapMs: number;
  maxRemovedShare: number;
  allowRemovals: boolean;
  confirmingPassDelayMs: number;
}

/** This many changed records are enough to check increments. */
const MAX_EXPECTED_NUMBERS = 10_000;

/** One list in one run: what the reader reads is applied to the copy, page by page. */
export class ListUpdate {
  readonly counts = { added: 0, changed: 0, removed: 0 };
  readonly modes: MirrorReadMode[] = [];
  readonly reader: ListReader;
  /** Until when the copy had all changes when the run began. */
  readonly asOfBefore: number | undefined;
  /** Until when increments of this run have read all changes, if that is not covered by a full pass of this run. */
  changesReadUntil: number | undefined;
  /** How many records the copy had when the run began. */
  readonly countBefore: number;
  #durationMs = 0;

  constructor(
    readonly list: MirrorList,
    client: InventoryClient,
    readonly copy: LocalCopy,
    readonly settings: SyncSettings,
  ) {
    this.reader = new ListReader(client, list, settings);
    this.asOfBefore = this.state.asOf;
    this.countBefore = this.state.count;
  }

  get state(): ListState {
    return this.copy.stateOf(this.list);
  }

  /**
   * Until when the copy has all records that were added or changed. It becomes `asOf` once the counts are compared; at once,
   * while `awaitsFullPass` shows anyway that removed records may be left.
   */
  get changesKnownUntil(): number | undefined {
    return this.changesReadUntil ?? this.state.asOf;
  }

  /** Saves what is known of the list, without records. */
  save(statePatch: Partial<ListState>): Promise<void> {
    return this.copy.save(this.list, statePatch);
  }

  /** Adds the time that a step takes to the report. */
  async measure<T>(step: () => Promise<T>): Promise<T> {
    const startedAtMs = monotonicNowMs();
    try {
      return await step();
    } finally {
      this.#durationMs += monotonicNowMs() - startedAtMs;
    }
  }

  report(): ListReport {
    const { count, increments } = this.state;
    return {
      list: this.list,
      modes: this.modes,
      ...this.reader.stats,
      ...this.counts,
      inCopy: count,
      ...reportedDifference(this.state),
      awaitsFullPass: awaitsFullPass(this.state),
      honoursModifiedSince: increments.support === undefined ? null : increments.support === "honoured",
      durationMs: this.#durationMs,
    };
  }

  /** Writes pages to the copy. `onPage` receives each before it is written. */
  async writePages(mode: MirrorReadMode, source: ListPages, onPage: (page: ListedPage) => void): Promise<WrittenPages> {
    this.modes.push(mode);
    const expectedInIncrement: number[] = [];
    let newest: number | undefined;
    let received = 0;
    for await (const page of source.pages) {
      onPage(page);
      const written = await this.copy.write(this.list, page.records);
      this.counts.added += written.added;
      this.counts.changed += written.changed;
      if (expectedInIncrement.length < MAX_EXPECTED_NUMBERS) expectedInIncrement.push(...written.expectedInIncrement);
      newest = laterTimeOf(newest, newestModified(page.records));
      const { resource, wID } = this.list;
      received += page.records.length;
      const { totalCount } = page;
      const progress = { resource, mode, received, totalCount, requests: this.reader.stats.requests };
      await this.settings.onProgress?.({ ...progress, ...(wID !== undefined && { wID }) });
    }
    return { expectedInIncrement, newest };
  }
}

/** Findings while pages were written. */
export interface WrittenPages {
  /** Numbers of records that the service must count as modified since the copy had them last; the first ones. */
  expectedInIncrement: number[];
  /** The latest `modified`, in ms. */
  newest: number | undefined;
}

/** The latest `modified` of records, in ms of the service's clock; `undefined` if none has a date there. Only items do. */
function newestModified(records: readonly NumberedRecord[]): number | undefined {
  let newest: number | undefined;
  for (const { record } of records) {
    const modified = serviceTimeMs(fieldOf(record, "modified"));
    if (modified !== undefined) newest = Math.max(newest ?? modified, modified);
  }
  return newest;
}

/** The later of two dates, either of which may be unknown. */
export const laterTimeOf = (one: number | undefined, other: number | undefined) =>
  one === undefined || other === undefined ? (one ?? other) : Math.max(one, other);
