import type { MirrorList } from "../copy/lists.js";
import type { LocalCopy } from "../copy/local-copy.js";
import { recordNumberOf } from "../copy/record-checks.js";
import type { ListState } from "../copy/state.js";
import type { MirrorProgress, MirrorReading } from "../report.js";
import type { MirrorRecords, MirrorResource } from "../tables.js";
import type { ListReader, ListScan } from "./list-reader.js";
import { laterTimeOf, newestModified } from "./modified-dates.js";
import type { ScheduleOptions } from "./schedule.js";

export interface SyncSettings extends ScheduleOptions {
  signal: AbortSignal | undefined;
  onProgress: ((progress: MirrorProgress) => unknown) | undefined;
  maxRemovedShare: number;
  allowRemovals: boolean;
  confirmAfterMs: number;
}

/** This many changed records are enough to check increments. */
const MAX_EXPECTED_NUMBERS = 10_000;

/** A list, its copy, and what a run has done with them so far. */
export class SyncedList<R extends MirrorResource> {
  readonly counts = { added: 0, changed: 0, removed: 0 };
  readonly readings: MirrorReading[] = [];

  constructor(
    readonly list: MirrorList<R>,
    readonly reader: ListReader<R>,
    readonly copy: LocalCopy,
    readonly settings: SyncSettings,
  ) {}

  get state(): ListState {
    return this.copy.stateOf(this.list);
  }

  /** Saves progress without records. */
  save(statePatch: Partial<ListState>): Promise<void> {
    return this.copy.save(this.list, statePatch);
  }

  /** Writes the pages of a scan to the copy, each together with the part of the state that `patchOf` returns. */
  async write(
    reading: MirrorReading,
    scan: ListScan<MirrorRecords[R]>,
    patchOf: StatePatchOfPage,
  ): Promise<WriteOutcome> {
    this.readings.push(reading);
    const expectedInIncrement: number[] = [];
    let newest: number | undefined;
    for await (const page of scan.pages) {
      const numbers = page.value.map((record) => recordNumberOf(this.list.resource, record));
      const written = await this.copy.write(this.list, page.value, patchOf(page, numbers));
      this.counts.added += written.added;
      this.counts.changed += written.changed;
      if (expectedInIncrement.length < MAX_EXPECTED_NUMBERS) expectedInIncrement.push(...written.expectedInIncrement);
      newest = laterTimeOf(newest, newestModified(page.value));
      const { resource, wID } = this.list;
      const progress = scan.progress();
      if (progress) {
        await this.settings.onProgress?.({ ...progress, resource, reading, ...(wID !== undefined && { wID }) });
      }
    }
    return { expectedInIncrement, newest };
  }
}

/** Returns the part of the state that is saved with a page, from the numbers of its records. */
type StatePatchOfPage = (page: { totalCount: number }, numbers: readonly number[]) => Partial<ListState>;

/** Findings while pages were written. */
export interface WriteOutcome {
  /** Numbers of records that the service must count as modified since the copy had them last; the first ones. */
  expectedInIncrement: number[];
  /** The latest `modified`, in ms. */
  newest: number | undefined;
}
