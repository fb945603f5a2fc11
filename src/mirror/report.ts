import type { PagingProgress } from "../paging/page.js";
import type { MirrorResource } from "./tables.js";

/**
 * How a resource is read:
 * - `first`: all of it, into a new copy; goes on where an interrupted run stopped.
 * - `full`: all of it, which also finds what the service no longer has.
 * - `increment`: what was modified since the last reading began.
 */
export type MirrorReading = "first" | "full" | "increment";

/** Sums of a run. */
export interface MirrorCounts {
  /** Records read. */
  records: number;
  /** Records that the copy did not have. */
  added: number;
  /** Records that the copy had otherwise. */
  changed: number;
  /** Records that the service no longer has. */
  removed: number;
  /** Pages read. */
  pages: number;
  /** Requests made, repeated ones included; without those for tokens. */
  requests: number;
  /** Records that came again in the overlap of two pages, and were dropped. */
  duplicates: number;
  /** How often records had moved between two pages, so that pages in between were read. */
  gapsRepaired: number;
  /** Time taken, in ms. */
  durationMs: number;
}

/** What a run did for one resource. */
export interface MirrorResourceReport extends MirrorCounts {
  /** The readings, in their order. An increment that showed that records are gone is followed by a full one. */
  readings: MirrorReading[];
  /** Records that the copy has now. */
  inCopy: number;
  /**
   * Records that the copy has more than the service counts: removed there, and to be found by the next full pass. `null`
   * where it was not asked.
   */
  surplus: number | null;
  /**
   * Records that the service counts more than the copy has, after a reading that should have shown them all: its list does
   * not keep its order between two pages, or it miscounts. Nothing is taken for removed by such a reading. `null` where it
   * was not asked.
   */
  missing: number | null;
  /**
   * True if the copy is known to differ, and a full pass out of turn would cost too much (such passes take a tenth of the
   * time at most, where one takes more than a minute) or did not show all, see `missing`. The next full pass, or `run({ full: true })`, puts it right.
   */
  awaitsFullPass: boolean;
  /** Whether the list honours `modifiedSince`, so that increments can be read; `null` while it could not be found out. */
  honoursModifiedSince: boolean | null;
}

/** What a run did. */
export interface MirrorReport extends MirrorCounts {
  /** `full` if any resource was read completely, the first reading included. */
  kind: "full" | "increment";
  /** The same for each resource that was read. */
  resources: Partial<Record<MirrorResource, MirrorResourceReport>>;
  /**
   * The share of the client's rate limit that the run used, 0 to 1: its requests by those that the limit allows in the time
   * that it took, or in one interval if it took less. 0 without a limit.
   */
  quotaUsed: number;
}

/** How far a run has come; told after each page that was saved. */
export interface MirrorProgress extends PagingProgress {
  /** What is being read. */
  resource: MirrorResource;
  /** How it is being read. */
  reading: MirrorReading;
}

/** The report of a run, from those of its resources. */
export function reportOf(
  resources: MirrorReport["resources"],
  durationMs: number,
  { limit, intervalMs }: { limit: number; intervalMs: number },
): MirrorReport {
  const reports = Object.values(resources);
  const sum = (name: keyof MirrorCounts) => reports.reduce((total, report) => total + report[name], 0);
  const requests = sum("requests");
  return {
    kind: reports.every(({ readings }) => readings.every((reading) => reading === "increment")) ? "increment" : "full",
    records: sum("records"),
    added: sum("added"),
    changed: sum("changed"),
    removed: sum("removed"),
    pages: sum("pages"),
    requests,
    duplicates: sum("duplicates"),
    gapsRepaired: sum("gapsRepaired"),
    durationMs,
    // The requests of the first moment may be one window's, those of the last another's.
    quotaUsed: Math.min(1, requests / (limit * Math.max(1, durationMs / intervalMs))),
    resources,
  };
}
