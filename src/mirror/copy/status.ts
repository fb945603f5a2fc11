import type { MirrorRunKind } from "../report.js";
import { type MirrorList, type MirrorResource, mirrorListOfId, RESOURCES } from "../tables.js";
import { historyFrom } from "./history.js";
import { awaitsFullPass, type MirrorState, NEW_LIST_STATE, reportedDifference } from "./state.js";

/** How complete and how recent the copy of one resource is. */
export interface MirrorResourceStatus {
  /** False if this mirror does not read the resource: the copy has records of it from another one, which grow old. */
  mirrored: boolean;
  /** Records in the copy. */
  records: number;
  /**
   * The copy has all records that the service showed as added or changed until this time, in ms since the epoch, by this
   * machine's clock; `null` until the whole list was read once. Records that were removed until then are still in the copy
   * if `awaitsFullPass` is true, or if as many were added while the counts were compared: then the next run removes them.
   */
  asOf: number | null;
  /** The time that has passed since `asOf`, in ms; `null` if `asOf` is `null`. */
  lagMs: number | null;
  /** True if the copy may differ until the next full pass, see {@link MirrorResourceReport.awaitsFullPass}. */
  awaitsFullPass: boolean;
  /** Number of records that the copy lacks by the service's count, as last reported; `null` if that is unknown. */
  missing: number | null;
}

/** A run that has ended. */
export interface MirrorRunStatus {
  /** When it began, in ms since the epoch. */
  startedAt: number;
  /** When it ended, in ms since the epoch. */
  endedAt: number;
  /** `full` if any list was read completely. */
  kind: MirrorRunKind;
  /** Why it failed; missing if it succeeded. */
  error?: {
    /** The class of the error. */
    name: string;
    /** Its message. */
    message: string;
  };
}

/** How complete and how recent a copy is. */
export interface MirrorStatus {
  /**
   * False until each list was read to its end once. Until then, the copy contains only a part of the service's records.
   */
  complete: boolean;
  /** The run that ended last; `null` until the first one has ended. A run that was killed does not count. */
  lastRun: MirrorRunStatus | null;
  /** The history of the copy; missing if changes are not recorded. */
  history?: MirrorHistoryStatus;
  /** The status of each resource. */
  resources: Partial<Record<MirrorResource, MirrorResourceStatus>>;
}

/** The history of a copy. */
export interface MirrorHistoryStatus {
  /** How long changes are kept, in days. */
  days: number;
  /**
   * The first moment that it covers, in ms since the epoch: all resources and warehouses of the copy are recorded
   * since then. `null` while no first full pass has ended.
   */
  from: number | null;
}

/** The status of one resource, and the run that ended last, as the table `mirror_status` of a copy shows it. */
export interface MirrorStatusRow {
  /** The resource. */
  resource: MirrorResource;
  /** See {@link MirrorResourceStatus.mirrored}. */
  mirrored: boolean;
  /** False until each list of the resource was read to its end once. */
  complete: boolean;
  /** Records in the copy. */
  records: number;
  /** See {@link MirrorResourceStatus.asOf}, in ISO 8601. */
  asOf: string | null;
  /** See {@link MirrorResourceStatus.awaitsFullPass}. */
  awaitsFullPass: boolean;
  /** Number of records that the copy lacks, see {@link MirrorResourceStatus.missing}. */
  missing: number | null;
  /** When the last run began, in ISO 8601. */
  lastRunStartedAt: string | null;
  /** When the last run ended, in ISO 8601. */
  lastRunEndedAt: string | null;
  /** `full` if it has read any list completely. */
  lastRunKind: MirrorRunKind | null;
  /** Name and message of the error of the last run; `null` if it succeeded. */
  lastRunError: string | null;
}

/** The status of a copy, for a mirror that reads these lists. */
export function mirrorStatusOf(state: MirrorState, lists: readonly MirrorList[], now: number): MirrorStatus {
  const statuses = resourceStatusesOf(state, lists, now);
  return {
    complete: statuses.every(({ mirrored, complete }) => complete || !mirrored),
    lastRun: state.lastRun ? withoutUndefinedError(state.lastRun) : null,
    ...(state.history?.days !== undefined && {
      history: { days: state.history.days, from: historyFrom(state.history) },
    }),
    resources: Object.fromEntries(statuses.map(({ resource, complete: _, ...status }) => [resource, status])),
  };
}

/** The same as rows. */
export function createStatusRows(state: MirrorState, lists: readonly MirrorList[]): MirrorStatusRow[] {
  const { lastRun } = state;
  const run = {
    lastRunStartedAt: toIsoOrNull(lastRun?.startedAt),
    lastRunEndedAt: toIsoOrNull(lastRun?.endedAt),
    lastRunKind: lastRun?.kind ?? null,
    lastRunError: lastRun?.error ? `${lastRun.error.name}: ${lastRun.error.message}` : null,
  };
  return resourceStatusesOf(state, lists, 0).map(({ asOf, lagMs: _, ...status }) => ({
    ...status,
    asOf: toIsoOrNull(asOf),
    ...run,
  }));
}

const toIsoOrNull = (time: number | null | undefined) => (time == null ? null : new Date(time).toISOString());

const withoutUndefinedError = ({ error, ...run }: NonNullable<MirrorState["lastRun"]>): MirrorRunStatus => ({
  ...run,
  ...(error && { error }),
});

/** A resource that the mirror reads, or whose records the copy has. */
interface ResourceStatus extends MirrorResourceStatus {
  resource: MirrorResource;
  /** True if each list was read to its end once. */
  complete: boolean;
}

const resourceStatusesOf = (state: MirrorState, lists: readonly MirrorList[], now: number): ResourceStatus[] =>
  RESOURCES.flatMap((resource): ResourceStatus[] => {
    const mirrored = lists.filter((list) => list.resource === resource);
    const inCopy = Object.entries(state.lists).flatMap(([id, { count }]) => (count > 0 ? mirrorListOfId(id) : []));
    const read = mirrored.length > 0 ? mirrored : inCopy.filter((list) => list.resource === resource);
    if (read.length === 0) return [];
    const states = read.map(({ id }) => state.lists[id] ?? NEW_LIST_STATE);
    const complete = states.every(({ lastPass }) => lastPass !== undefined);
    const asOf = complete ? Math.min(...states.map((list) => list.asOf ?? Number.NaN)) : Number.NaN;
    const missing = states.flatMap((list) => reportedDifference(list).missing ?? []);
    return [
      {
        resource,
        mirrored: mirrored.length > 0,
        complete,
        records: sumOf(states.map(({ count }) => count)),
        asOf: Number.isNaN(asOf) ? null : asOf,
        lagMs: Number.isNaN(asOf) ? null : Math.max(0, now - asOf),
        awaitsFullPass: states.some(awaitsFullPass),
        missing: missing.length === 0 ? null : sumOf(missing),
      },
    ];
  });

const sumOf = (numbers: readonly number[]) => numbers.reduce((sum, number) => sum + number, 0);
