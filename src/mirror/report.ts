import { type MirrorList, type MirrorResource, RESOURCES } from "./tables.js";

/** The report of a run for one resource. */
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
  /** Records in the copy after the run. */
  inCopy: number;
  /** True if a full pass was interrupted before this run, and this run has begun it again. */
  beganAgain: boolean;
}

/** The report of a run: the sums of all resources, and a report for each resource. */
export interface MirrorReport extends Omit<MirrorResourceReport, "inCopy" | "beganAgain"> {
  /** The report of each resource. */
  resources: Partial<Record<MirrorResource, MirrorResourceReport>>;
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
  /** True if a full pass was interrupted before this run, and this run has begun it again. */
  beganAgain: boolean;
  /** Records of this list that were read and saved. */
  received: number;
  /** Records in the list, or modified since, as the service counted last. */
  totalCount: number;
  /** Requests that the run has sent for this list. */
  requests: number;
}

/** The report of a run for one list. */
export interface ListReport extends MirrorResourceReport {
  list: MirrorList;
}

const NOTHING = { records: 0, added: 0, changed: 0, removed: 0, pages: 0, requests: 0, durationMs: 0 };

/** The report of a list that is not mirrored any more. */
export const droppedReport = (list: MirrorList, removed: number): ListReport => ({
  ...NOTHING,
  list,
  removed,
  inCopy: 0,
  beganAgain: false,
});

/** Creates the report of a run from the reports of its lists. */
export function createMirrorReport(lists: readonly ListReport[], durationMs: number): MirrorReport {
  const resources: MirrorReport["resources"] = {};
  for (const resource of RESOURCES) {
    const ofResource = lists.filter(({ list }) => list.resource === resource);
    const inCopy = ofResource.reduce((sum, list) => sum + list.inCopy, 0);
    const beganAgain = ofResource.some((list) => list.beganAgain);
    if (ofResource.length > 0) resources[resource] = { ...sumsOf(ofResource), inCopy, beganAgain };
  }
  return { ...sumsOf(lists), durationMs, resources };
}

function sumsOf(lists: readonly ListReport[]): typeof NOTHING {
  const sums = { ...NOTHING };
  for (const list of lists) for (const name of Object.keys(NOTHING)) if (isCount(name)) sums[name] += list[name];
  return sums;
}

const isCount = (name: string): name is keyof typeof NOTHING => name in NOTHING;
