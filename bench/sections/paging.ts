import { ChangingList, changeBy, type Schedule } from "../../test/lists/changing-list.js";
import { seededRandom } from "../../test/support/random.js";
import type { Section } from "../results.js";

const RECORDS = 25_000;
const PAGE_SIZE = 250;
const CALM: Schedule = { remove: 0, insert: 0, burstEvery: 1, burst: 0, where: "anywhere" };

/** How others change the list at each request. */
const SCHEDULES: { name: string; schedule: Schedule; readAhead: number; atMost: number }[] = [
  { name: "nothing", schedule: CALM, readAhead: 1, atMost: 1.1 },
  { name: "nothing, four pages ahead", schedule: CALM, readAhead: 4, atMost: 1.1 },
  { name: "up to 3 removed and 3 added", schedule: { ...CALM, remove: 3, insert: 3 }, readAhead: 1, atMost: 1.15 },
  { name: "up to 40 removed and 40 added", schedule: { ...CALM, remove: 40, insert: 40 }, readAhead: 1, atMost: 1.25 },
  { name: "the same, four pages ahead", schedule: { ...CALM, remove: 40, insert: 40 }, readAhead: 4, atMost: 1.3 },
];

/** Measures how many requests per page `gapless` costs, and whether it loses a record. */
export async function paging(quick: boolean): Promise<Section> {
  const rounds = quick ? 3 : 20;
  const figures: { name: string; ratio: number; lost: number; atMost: number }[] = [];
  for (const { name, schedule, readAhead, atMost } of SCHEDULES) {
    let [requests, pages, lost] = [0, 0, 0];
    for (let seed = 1; seed <= rounds; seed += 1) {
      const list = new ChangingList(RECORDS, { change: changeBy(schedule, seededRandom(seed)) });
      const lots = new Set(await list.paginator({ gapless: true, readAhead }).toArray());
      requests += list.requests.length;
      pages += Math.ceil(lots.size / PAGE_SIZE);
      lost += [...list.constant].filter((lot) => !lots.has(lot)).length;
    }
    figures.push({ name, ratio: requests / pages, lost, atMost });
  }
  return {
    title: "Gapless paging",
    note: `Requests per page of ${PAGE_SIZE}, of a list of ${RECORDS.toLocaleString("en")} records that others change at each request, and records lost, in ${rounds} iterations each.`,
    columns: ["others, at each request", "requests per page", "records lost"],
    rows: figures.map(({ name, ratio, lost }) => [name, { value: ratio, digits: 2 }, { value: lost, digits: 0 }]),
    checks: figures.flatMap(({ name, ratio, lost, atMost }) => [
      { what: `gapless, ${name}: requests per page`, value: ratio, atMost },
      { what: `gapless, ${name}: records lost`, value: lost, atMost: 0 },
    ]),
  };
}
