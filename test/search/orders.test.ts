import type { Lot } from "stocklot";
import { expect, it } from "vitest";
import { InventoryClient } from "../../src/index.js";
import { pick } from "../receipts/random-world.js";
import { createRandom } from "../support/random.js";
import { newItem, newLevel, newLot, pageOf } from "../support/records.js";
import { worlds } from "../support/runs.js";
import { warningLog } from "../support/with-server.js";

/** Columns, and other values, by which a service may sort before it sorts by part number. */
const GROUPS: { readonly [name: string]: (lot: Lot) => string | number } = {
  nothing: () => 0,
  wID: ({ wID }) => wID,
  hold: ({ hold }) => Number(hold),
  associate: ({ associate }) => associate,
  shipped: ({ shipped }) => Number(shipped === null),
  active: ({ active }) => Number(!active),
  shortID: ({ shortID }) => shortID,
  "shortID without regard to case": ({ shortID }) => shortID.toLowerCase(),
  "even part numbers": ({ partNo }) => partNo % 2,
  "part numbers as text": ({ partNo }) => String(partNo),
};

const OF_PART_NUMBER = ["even part numbers", "part numbers as text"];

interface List {
  lots: Lot[];
  /** The number of items. Their part numbers begin at 1. */
  items: number;
  skuOf(partNo: number): string;
}

function listOf(random: () => number): List {
  const items = pick(random, [40, 300, 1_500]);
  const skuOf = pick<(partNo: number) => string>(random, [
    (partNo) => `S${partNo}`,
    (partNo) => `SKU-${String(partNo).padStart(6, "0")}`,
    (partNo) => `SKU-${(partNo * 7_919) % 9_973}`,
  ]);
  const lots = Array.from({ length: items * 2 }, (_, index) => {
    const partNo = 1 + Math.floor(random() * items);
    return newLot({
      recNo: index + 1,
      partNo,
      shortID: skuOf(partNo),
      wID: 1 + Math.floor(random() * 3),
      hold: random() < 0.03,
      associate: random() < 0.1 ? `Owner ${Math.floor(random() * 5)}` : "",
      shipped: random() < 0.3 ? "2024-05-01T00:00:00Z" : null,
      active: random() < 0.9,
    });
  });
  return { lots, items, skuOf };
}

const compare = (one: string | number, next: string | number) => (one === next ? 0 : one < next ? -1 : 1);

it("a search is right, whatever the service sorts by before the part number", async () => {
  let searches = 0;
  for (let seed = 1; seed <= worlds(1_000); seed += 1) {
    const random = createRandom(seed);
    const { lots, items, skuOf } = listOf(random);
    const groupName = pick(random, Object.keys(GROUPS));
    const groupOf = GROUPS[groupName] ?? (() => 0);
    const direction = pick(random, [1, -1]);
    const isReversed = random() < 0.5;
    const maxPageSize = pick(random, [10, 25, 50]);
    const lists = new Map<string, Lot[]>();
    /** Returns the lots, or one lot per stock level, in the requested direction, or in the service's own order without one. */
    const listFor = (isOfLevels: boolean, asked: string) => {
      const name = `${isOfLevels} ${asked}`;
      const known = lists.get(name);
      if (known) return known;
      // A stock level has no other column by which the service could sort first.
      const isUngrouped = isOfLevels && !OF_PART_NUMBER.includes(groupName);
      const compareLots = (sign: number) => (one: Lot, next: Lot) =>
        (isUngrouped ? 0 : direction * compare(groupOf(one), groupOf(next))) ||
        sign * (one.partNo - next.partNo) ||
        one.recNo - next.recNo;
      const ascending = lots.toSorted(compareLots(1));
      const descending = isReversed ? ascending.toReversed() : lots.toSorted(compareLots(-1));
      const sorted = asked === "" ? lots.toReversed() : asked === "DESC" ? descending : ascending;
      const seen = new Set<number>();
      const listed = isOfLevels ? sorted.filter(({ partNo }) => !seen.has(partNo) && seen.add(partNo)) : sorted;
      lists.set(name, listed);
      return listed;
    };
    const fetch = async (input: string | URL | Request) => {
      const { pathname, searchParams } = new URL(String(input));
      if (pathname.endsWith("/Token"))
        return Response.json({ access_token: "token-0123456789", token_type: "bearer", expires_in: 3_600 });
      if (pathname.endsWith("/Item")) {
        const shortID = searchParams.get("key") ?? "";
        const partNo = Array.from({ length: items + 5 }, (_, index) => index + 1).find((one) => skuOf(one) === shortID);
        return Response.json(newItem({ partNo: partNo ?? 0, shortID }));
      }
      const isOfLevels = pathname.includes("StockLevels");
      const isSorted = searchParams.get("sort") === "partNo";
      const listed = listFor(isOfLevels, isSorted ? (searchParams.get("direction") ?? "ASC") : "");
      if (!isOfLevels) return Response.json(pageOf(listed, searchParams, maxPageSize));
      const levels = listed.map(({ partNo }) => newLevel({ partNo }));
      return Response.json(pageOf(levels, searchParams, maxPageSize));
    };
    const client = new InventoryClient({
      baseUrl: "https://service.test/api/v1",
      clientId: "id",
      clientSecret: "the-secret",
      rateLimit: false,
      logger: warningLog().logger,
      fetch,
    });
    for (let search = 0; search < 10; search += 1) {
      const partNo = 1 + Math.floor(random() * (items + 3));
      const label = `seed ${seed}, ${groupName}, partNo ${partNo}`;
      searches += 1;
      const expected = lots.filter((lot) => lot.partNo === partNo).map(({ recNo }) => recNo);
      if (random() < 0.6) {
        const found = await client.inventory.getLots(skuOf(partNo));
        expect(
          found.map(({ recNo }) => recNo),
          label,
        ).toEqual(expected);
      } else {
        const level = await client.inventory.getStockLevel(skuOf(partNo));
        expect(level?.partNo ?? null, label).toBe(expected.length > 0 ? partNo : null);
      }
    }
  }
  expect(searches).toBeGreaterThan(0);
}, 1_800_000);
