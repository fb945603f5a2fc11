import type { MirrorResource } from "../tables.js";

/** Time between two runs of a watch, in ms: one for all resources, or one for each. */
export type WatchInterval = number | Partial<Record<MirrorResource, number | undefined>>;

/** Decides when a watch reads which resources. At first, all of them are due. */
export class WatchSchedule {
  readonly #groups: { resources: readonly MirrorResource[]; everyMs: number; nextAt: number }[];

  /** @param mirrored The resources of an interval for all. Resources that `interval` does not name are never due. */
  constructor(interval: WatchInterval, mirrored: readonly MirrorResource[]) {
    const groups: [readonly MirrorResource[], number | undefined][] =
      typeof interval === "number"
        ? [[mirrored, interval]]
        : mirrored.map((resource) => [[resource], interval[resource]]);
    this.#groups = groups.flatMap(([resources, everyMs]) =>
      everyMs === undefined ? [] : [{ resources, everyMs, nextAt: Number.NEGATIVE_INFINITY }],
    );
  }

  /** The resources that are due, or else those that are due next. They are due again one interval later. */
  takeDue(now: number): MirrorResource[] {
    // A timer may fire a fraction of a millisecond early.
    const dueAt = Math.max(now, this.nextAt);
    const due = this.#groups.filter(({ nextAt }) => nextAt <= dueAt);
    for (const group of due) group.nextAt = now + group.everyMs;
    return due.flatMap(({ resources }) => resources);
  }

  /** When a resource is due next. */
  get nextAt(): number {
    return Math.min(...this.#groups.map(({ nextAt }) => nextAt));
  }
}
