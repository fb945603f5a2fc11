import { ALL_DISTRIBUTIONS } from "../../test/search/distributions.js";
import { SearchedService } from "../../test/search/searched-service.js";
import { createRandom } from "../../test/support/random.js";
import type { Section } from "../results.js";
import { openClient } from "../stocklot.js";

const PAGE_SIZE = 250;
const LISTS = [
  { name: "stock levels", search: "getStockLevel", records: 20_000 },
  { name: "lots", search: "getLots", records: 100_000 },
  { name: "lots", search: "getLots", records: 1_000_000 },
] as const;
const DISTRIBUTIONS = {
  dense: "dense",
  "random gaps": "random gaps from 500 000",
  exponential: "exponential",
  clustered: "clustered",
} as const;

/** Measures how many requests one item costs: with a new client each time, and with the same client. */
export async function search(quick: boolean): Promise<Section> {
  const searches = quick ? 20 : 300;
  const rows: Section["rows"] = [];
  const cold: Record<string, number[]> = {};
  for (const { name, search, records } of LISTS.slice(0, quick ? 2 : 3)) {
    for (const [title, distribution] of Object.entries(DISTRIBUTIONS)) {
      const random = createRandom(records);
      const partNos = partNosOf(records, search === "getLots", distribution, random);
      const service = new SearchedService(partNos);
      const wanted = Array.from({ length: searches }, () => partNos[Math.floor(random() * partNos.length)] ?? 0);
      const count = async (client: Awaited<ReturnType<typeof open>>, partNo: number) => {
        service.requests.length = 0;
        await client.inventory[search](`SKU-${partNo}`);
        return service.requests.length;
      };
      const open = () => openClient("https://service.test/api/v1", { fetch: service.fetch });
      const first: number[] = [];
      for (const partNo of wanted) first.push(await count(await open(), partNo));
      const client = await open();
      const others: number[] = [];
      const again: number[] = [];
      for (const partNo of wanted) {
        others.push(await count(client, partNo));
        again.push(await count(client, partNo));
      }
      cold[`${records} ${title}`] = first;
      rows.push([
        `${records.toLocaleString("en")} ${name}`,
        title,
        Math.floor(partNos.length / PAGE_SIZE).toLocaleString("en"),
        `${at(first, 0.5)} / ${at(first, 0.95)} / ${at(first, 1)}`,
        { value: at(others, 0.5), digits: 0 },
        { value: at(again, 0.5), digits: 0 },
      ]);
    }
  }
  const carts = await cartRequests(quick ? 3 : 20);
  const worst = (records: number) =>
    Math.max(...Object.entries(cold).flatMap(([name, counts]) => (name.startsWith(`${records} `) ? counts : [])));
  return {
    title: "One item",
    note: `Requests of getStockLevel and getLots, the look-up of the item included, for ${searches} random items of each list. "First": median / 95th percentile / most of a client that has never searched. The medians of one client: another item each time, and the same item again. Lots: five per item on average.`,
    columns: ["list", "part numbers", "pages of the list", "first", "another", "again"],
    rows,
    checks: [
      { what: "dense stock levels, median", value: at(cold["20000 dense"] ?? [], 0.5), atMost: 4 },
      { what: "twelve of 20,000 stock levels, most", value: Math.max(...carts.cold), atMost: 30 },
      { what: "twelve of 20,000 stock levels again, most", value: Math.max(...carts.warm), atMost: 12 },
      { what: "20,000 stock levels, any part numbers, most", value: worst(20_000), atMost: 12 },
      { what: "100,000 lots, any part numbers, most", value: worst(100_000), atMost: 15 },
      ...(quick ? [] : [{ what: "1,000,000 lots, any part numbers, most", value: worst(1_000_000), atMost: 18 }]),
    ],
  };
}

/** Measures how many requests `getStockLevels` of twelve items costs, and how many a second call costs. */
async function cartRequests(rounds: number): Promise<{ cold: number[]; warm: number[] }> {
  const counts = { cold: [] as number[], warm: [] as number[] };
  for (let round = 1; round <= rounds; round += 1) {
    const random = createRandom(round);
    const partNos = partNosOf(20_000, false, "random gaps from 500 000", random);
    const service = new SearchedService(partNos);
    const client = await openClient("https://service.test/api/v1", { fetch: service.fetch });
    const skus = Array.from({ length: 12 }, () => `SKU-${partNos[Math.floor(random() * partNos.length)]}`);
    for (const kind of ["cold", "warm"] as const) {
      service.requests.length = 0;
      await client.inventory.getStockLevels(skus);
      counts[kind].push(service.requests.length);
    }
  }
  return counts;
}

function partNosOf(
  records: number,
  hasRuns: boolean,
  distribution: keyof typeof ALL_DISTRIBUTIONS,
  random: () => number,
): number[] {
  const create = ALL_DISTRIBUTIONS[distribution];
  if (!create) throw new Error(`no distribution ${distribution}`);
  if (!hasRuns) return create(records, random);
  const items = create(records / 5, random);
  return items.flatMap((partNo) =>
    Array<number>(Math.min(200, Math.floor(-5.5 * Math.log(1 - random())))).fill(partNo),
  );
}

const at = (counts: readonly number[], share: number) =>
  counts.toSorted((one, next) => one - next)[Math.floor((counts.length - 1) * share)] ?? 0;
