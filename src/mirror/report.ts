import { type MirrorList, type MirrorResource, RESOURCES } from "./tables.js";

/** What a run did for one resource. */
export interface MirrorResourceReport {
  /** Records read. */
  records: number;
  /** Records that the copy did not have. */
  added: number;
  /** Records that differed from the copy. */
  changed: number;
  /** Records that the service no longer has. */
  removed: number;
  /** Pages read. */
  pages: number;
  /** Requests sent, retries included, token requests excluded. */
  requests: number;
  /** Time taken, in ms. */
  durationMs: number;
  /** `full` if the list was read completely, the first time included. */
  kind: "full" | "increment";
  /** How the list was read, in order. */
  modes: MirrorProgress["mode"][];
  /** Records in the copy after the run. */
  inCopy: number;
  /** True if a full pass before this run was interrupted, so that this one has begun again. */
  beganAgain: boolean;
}

/** What a run did: for all its resources, and for each. */
export interface MirrorReport extends Omit<MirrorResourceReport, "kind" | "modes" | "inCopy" | "beganAgain"> {
  /**
   * `full` if any list was read completely, the first time included. `resources` contains the kind of each resource.
   */
  kind: "full" | "increment";
  /** The report of each resource. */
  resources: Partial<Record<MirrorResource, MirrorResourceReport>>;
  /**
   * The share of the client's rate limit that the run used, 0 to 1: its requests divided by those that the limit allows in
   * `durationMs`, or in one interval if the run took less. 0 without a limit.
   */
  quotaUsed: number;
}

/** The progress of a run, reported after each page that was saved. */
export interface MirrorProgress {
  /** The resource that is being read. */
  resource: MirrorResource;
  /** ID of the warehouse, if stock levels per warehouse are being read; otherwise `null`. */
  wID: number | null;
  /**
   * How the resource is being read:
   * - `first`: all of it, into a new copy.
   * - `full`: all of it, which also finds what the service has removed.
   * - `increment`: what was modified since the last full pass or increment began.
   */
  mode: "first" | "full" | "increment";
  /** True if a full pass was interrupted before, so that this one has begun again. */
  beganAgain: boolean;
  /** Records of this list that were read and saved. */
  received: number;
  /** Records in the list, or modified since, as the service counted last. */
  totalCount: number;
  /** Requests that the run has sent for this list. */
  requests: number;
}

export const runKindOf = (modes: MirrorResourceReport["modes"]): MirrorReport["kind"] =>
  modes.every((mode) => mode === "increment") ? "increment" : "full";

/** What a run did for one list. */
export interface ListReport extends Omit<MirrorResourceReport, "kind"> {
  list: MirrorList;
  /** See `MirrorListStatus.lagMs`. */
  lagMs: number | null;
}

/** The report of a list that is not mirrored any more. */
export const droppedReport = ({ list, removed }: { list: MirrorList; removed: number }): ListReport => ({
  ...{ list, modes: [], records: 0, added: 0, changed: 0, removed, pages: 0, requests: 0, durationMs: 0 },
  ...{ inCopy: 0, beganAgain: false, lagMs: null },
});

/** The report of a run, from those of its lists. */
export function createMirrorReport(
  lists: readonly ListReport[],
  durationMs: number,
  { limit, intervalMs }: { limit: number; intervalMs: number },
): MirrorReport {
  const resources: MirrorReport["resources"] = {};
  for (const resource of RESOURCES) {
    const ofResource = lists.filter(({ list }) => list.resource === resource);
    const inCopy = sumOf(ofResource, "inCopy");
    const beganAgain = ofResource.some((list) => list.beganAgain);
    if (ofResource.length > 0) resources[resource] = { ...sumsOf(ofResource), inCopy, beganAgain };
  }
  const { modes: _, ...sums } = sumsOf(lists);
  // A run that is shorter than an interval uses at least one.
  const quotaUsed = Math.min(1, sums.requests / (limit * Math.max(1, durationMs / intervalMs)));
  return { ...sums, durationMs, quotaUsed, resources };
}

const sumOf = (
  lists: readonly ListReport[],
  name: Exclude<keyof MirrorResourceReport, "kind" | "modes" | "beganAgain">,
) => lists.reduce((sum, list) => sum + list[name], 0);

function sumsOf(lists: readonly ListReport[]) {
  const modes = lists.flatMap((list) => list.modes);
  const sum = (name: Parameters<typeof sumOf>[1]) => sumOf(lists, name);
  return {
    ...{ kind: runKindOf(modes), modes, records: sum("records"), added: sum("added"), changed: sum("changed") },
    ...{ removed: sum("removed"), pages: sum("pages"), requests: sum("requests"), durationMs: sum("durationMs") },
  };
}
