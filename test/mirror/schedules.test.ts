import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { UnexpectedRemovalsError } from "../../src/index.js";
import { createMirror, type MirrorRecord, type MirrorSink, openCopy } from "../../src/mirror/index.js";
import { type Random, seededRandom } from "../support/random.js";
import { RUN_ALL } from "../support/runs.js";
import { ChangingService, type ServiceBehaviour } from "./support/changing-service.js";
import { allRecordsIn, expectKilled, Killed, recordsIn, useCopies, watchedSink } from "./support/copies.js";

/*
 * Random months: others change the service between and during the runs of a mirror. The mirror is killed now and then. The
 * service may ignore `sort` and `modifiedSince`, and may date changes too early or in whole seconds. After each run:
 *
 *   - no value of a record that is still listed was replaced before `asOf`;
 *   - no record is missing that was listed at `asOf`, and still is;
 *   - no record is in the copy that was gone before `fullPassAt`.
 *
 * Then nothing changes any more. After a last full pass, the copy and what a follower of its history has equal the service.
 */

const { sinks: SINKS, reset } = await useCopies("schedules");

/** The number of months. `STOCKLOT_MONTHS=200 npx vitest run --mode all test/mirror/schedules` runs 200. */
const MONTHS = Number(process.env.STOCKLOT_MONTHS ?? (RUN_ALL ? 10 : 2));
const FIRST_SEED = Number(process.env.STOCKLOT_SEED ?? 1);

const RESOURCES = ["items", "lots", "stockLevels", "warehouseStockLevels"] as const;
const WAREHOUSES = [1, 3];
const HOUR_MS = 3_600_000;

beforeEach(() => void vi.useFakeTimers({ toFake: ["Date"] }));
afterEach(() => void vi.useRealTimers());

type Resource = (typeof RESOURCES)[number];

const listedBy = (service: ChangingService, resource: Resource): Copy =>
  resource === "warehouseStockLevels" ? service.warehouseLevels(...WAREHOUSES) : service.records(resource);

/** Text for comparison, without the description of a lot: a change of the item changes it, but not the lot's `modified`. */
const textOf = (record: MirrorRecord) =>
  JSON.stringify(
    Object.entries({ ...record, ...("recNo" in record && { description: "" }) })
      .filter(([, value]) => value !== undefined)
      .sort(),
  );

type Key = number | string;
type Copy = ReadonlyMap<Key, MirrorRecord>;

/** The values that each record of the service has had, with the times since when. */
class Timeline {
  readonly #values = new Map(
    RESOURCES.map((name) => [name, new Map<Key, { since: number; value: string | null }[]>()]),
  );

  /** Records what the service lists now. */
  note(service: ChangingService): void {
    for (const [resource, known] of this.#values) {
      const listed = listedBy(service, resource);
      for (const key of new Set([...known.keys(), ...listed.keys()])) {
        const record = listed.get(key);
        const value = record ? textOf(record) : null;
        const values = known.get(key) ?? [];
        if (values.at(-1)?.value !== value) values.push({ since: service.now, value });
        known.set(key, values);
      }
    }
  }

  /** Returns what is wrong with the records of a list in a copy. */
  flaws(resource: Resource, copy: Copy, isOfList: (key: Key) => boolean, asOf: number, fullPassAt: number): string[] {
    const known = this.#values.get(resource) ?? expect.fail();
    return [...new Set([...known.keys(), ...copy.keys()])].filter(isOfList).flatMap((key) => {
      const values = known.get(key) ?? [];
      const last = values.at(-1);
      const record = copy.get(key);
      if (record === undefined) {
        const since = values.findLast((one, index) => one.value !== null && !values[index - 1]?.value)?.since;
        return last?.value !== null && since !== undefined && since < asOf ? [`${key} is missing`] : [];
      }
      const index = values.findLastIndex(({ value }) => value === textOf(record));
      if (index < 0) return [`${key} never had the value of the copy`];
      const next = values[index + 1];
      // A record that was gone meanwhile may stay in the copy as it was last seen, until the next full pass.
      const wasGone = values.slice(index).some(({ value }) => value === null);
      if (next && !wasGone && next.since < asOf) return [`${key} is older than asOf`];
      return last?.value === null && last.since < fullPassAt ? [`${key} was gone before fullPassAt`] : [];
    });
  }
}

/** The records that a reader of the history has, if it starts with the first complete state of each list. */
class Follower {
  readonly records = new Map<Resource, Map<Key, object>>();
  #last = 0;

  async follow(sink: MirrorSink, copied: ReadonlyMap<Resource, Copy>, complete: ReadonlySet<Resource>): Promise<void> {
    if (complete.size === 0) return;
    await using copy = await openCopy(sink);
    for await (const { seq, at, resource, type, key, before, after } of copy.changes({ after: this.#last })) {
      expect(seq).toBe(this.#last + 1);
      this.#last = seq;
      expect(Date.parse(at)).toBeLessThanOrEqual(Date.now());
      expect([type, before === null, after === null]).toEqual([type, type === "added", type === "removed"]);
      const records = this.records.get(resource);
      const known = records?.get(key);
      if (records && type === "changed") expect(known).toMatchObject(before ?? {});
      else if (records) expect(before ?? undefined).toEqual(known);
      // A field that the service has dropped is only in `before`.
      const dropped = Object.fromEntries(Object.keys(before ?? {}).map((name) => [name, undefined]));
      if (type === "removed") records?.delete(key);
      else records?.set(key, { ...known, ...dropped, ...after });
    }
    for (const resource of complete)
      if (!this.records.has(resource)) this.records.set(resource, new Map(copied.get(resource)));
  }
}

/** Makes a random change to the service. */
function change(service: ChangingService, random: Random): void {
  const roll = random(100);
  if (roll < 27) service.addLot();
  else if (roll < 52) service.changeLot();
  else if (roll < 75) service.removeLot();
  else if (roll < 81) service.changeItem();
  // Adds a field to an item, or drops the field.
  else if (roll < 85) service.changeItem({ netWeight: roll < 83 ? random(9) : undefined });
  else if (roll < 92) service.addItem();
  else if (roll < 96) service.describeItem();
  else service.discontinueItem();
}

const pick = <T>(random: Random, ...values: T[]): T => values[random(values.length)] as T;

function behaviourOf(random: Random): ServiceBehaviour {
  const filter = () => pick(random, "honoured", "honoured", "honoured", "ignored", "empty", "refused" as const);
  return {
    modifiedSince: { items: filter(), lots: filter(), stockLevels: filter() },
    sorts: random(3) > 0,
    hasDateHeader: random(8) > 0,
    startsAt: pick(random, Date.parse("2026-03-01T10:00:00Z"), Date.parse("2031-07-01T00:00:00.500Z")),
    latenessMs: pick(random, 0, 500, 20_000),
    // These lags are less than `overlapMs`.
    modifiedLagMs: pick(random, 0, 0, 60_000, 570_000),
    resolutionMs: pick(random, 1, 1_000),
    // Small pages, so that a run reads many of them.
    maxPageSize: pick(random, 20, 50, 250),
  };
}

async function runMonth(seed: number, sink: MirrorSink): Promise<void> {
  const random = seededRandom(seed);
  const behaviour = behaviourOf(random);
  const service = new ChangingService(seededRandom(seed + 1_000_000), behaviour);
  const clockAheadMs = pick(random, 0, 0, HOUR_MS, -HOUR_MS);
  const timeline = new Timeline();
  const follower = new Follower();
  const advance = (ms: number) => {
    service.advance(ms);
    vi.setSystemTime(service.now + clockAheadMs);
  };
  const changeSome = (most: number) => {
    const changes = random(most + 1);
    for (let left = changes; left > 0; left -= 1) change(service, random);
    if (changes > 0) timeline.note(service);
  };
  for (let left = random(20); left > 0; left -= 1) service.addItem();
  for (let left = random(60); left > 0; left -= 1) service.addLot();
  timeline.note(service);
  advance(HOUR_MS);
  const busy = pick(random, 0, 0, 1, 2);
  const killEvery = pick(random, 0, 15, 40);
  let calm = false;
  const mayKill = () => {
    if (!calm && killEvery > 0 && random(killEvery) === 0) throw new Killed();
  };
  service.beforePage = () => {
    advance(random(1_500));
    if (!calm && busy > 0) changeSome(busy);
    if (killEvery > 0 && random(3) === 0) mayKill();
  };
  const client = service.client();
  const mirror = () =>
    createMirror({ client, sink: watchedSink(sink, mayKill), warehouses: WAREHOUSES, history: { days: 90 } });
  const check = async () => {
    const copied = await allRecordsIn(sink, RESOURCES);
    const complete = new Set<Resource>(RESOURCES);
    for (const { list, wID, asOf, fullPassAt } of await mirror().status()) {
      if (asOf === null) complete.delete(list);
      if (asOf === null) continue;
      // Without a `Date` header, `asOf` is the time of this machine's clock. Subtracting `behind` makes it the service's time.
      const behind = behaviour.hasDateHeader ? 0 : clockAheadMs;
      const isOfList = (key: Key) => wID === null || String(key).startsWith(`${wID}/`);
      const copy = copied.get(list) ?? new Map();
      const flaws = timeline.flaws(list, copy, isOfList, asOf - behind, (fullPassAt ?? 0) - behind);
      expect(flaws, `${list}, seed ${seed}`).toEqual([]);
    }
    await follower.follow(sink, copied, complete);
  };
  const end = service.now + 30 * 24 * HOUR_MS;
  while (service.now < end) {
    const options = { full: random(8) === 0, allowRemovals: random(3) > 0 };
    await mirror()
      .run(options)
      .catch((error: unknown) => UnexpectedRemovalsError.is(error) || expectKilled(error));
    await check();
    changeSome(12);
    advance(pick(random, 5 * 60_000, HOUR_MS, 26 * HOUR_MS, 72 * HOUR_MS) * (0.5 + random(100) / 100));
  }
  calm = true;
  await mirror().run({ full: true, allowRemovals: true });
  await check();
  for (const resource of RESOURCES) {
    const copy = await recordsIn(sink, resource);
    expect(copy, `${resource}, seed ${seed}`).toEqual(new Map(listedBy(service, resource)));
    const followed = follower.records.get(resource);
    for (const [key, record] of copy) expect(followed?.get(key), `${resource}, seed ${seed}`).toMatchObject(record);
    expect(followed?.size).toBe(copy.size);
  }
}

describe.each(Object.keys(SINKS))("a copy in %s", (name) => {
  it("is never wrong as of its dates, in random months", async () => {
    const months = Math.ceil(MONTHS * (name === "SQLite" ? 0.8 : 0.2));
    for (let seed = FIRST_SEED; seed < FIRST_SEED + months; seed += 1) {
      await reset();
      await runMonth(seed, (SINKS[name] ?? expect.fail())());
    }
  }, 600_000);
});
