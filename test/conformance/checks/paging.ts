import assert from "node:assert/strict";
import { modifiedSinceProbe, sortProbe } from "../../../src/bulk/probes.js";
import { LISTS, MAX_PAGE_SIZE } from "../../../src/service/lists.js";
import { assertPage, ITEM, LOT, STOCK_LEVEL } from "../shape.js";
import type { Check } from "../target.js";

const paragraph = "Common paging parameters";

const { items: ITEMS, lots: LOTS, stockLevels: STOCK_LEVELS } = LISTS;

const TABLES = [
  [ITEMS.path, ITEM, ITEMS.key],
  ["/Item/All", ITEM, ITEMS.key],
  [LOTS.path, LOT, LOTS.key],
  [STOCK_LEVELS.path, STOCK_LEVEL, STOCK_LEVELS.key],
] as const;

/** The path with the parameters of a probe. */
const withQuery = (path: string, params: object) =>
  `${path}?${new URLSearchParams(Object.entries(params).map(([name, value]): [string, string] => [name, String(value)]))}`;

const perList = TABLES.flatMap(([path, table, key]): Check[] => [
  {
    paragraph: "Paged envelope",
    name: `GET ${path} returns the envelope and its headers, 25 records per page by default`,
    async run(service) {
      const page = assertPage(await service.get(path), table);
      assert.deepEqual([page.page, page.pageSize], [1, 25]);
      assert.equal(page.value.length, Math.min(25, page.totalCount));
    },
  },
  {
    paragraph,
    name: `GET ${path} returns other records on the next page`,
    async run(service) {
      const [one, two] = [await service.get(`${path}?pageSize=3`), await service.get(`${path}?pageSize=3&page=2`)];
      const records = [...assertPage(one, table).value, ...assertPage(two, table).value];
      assert.equal(new Set(records.map((record) => record[key])).size, records.length);
      const together = assertPage(await service.get(`${path}?pageSize=6`), table).value;
      assert.deepEqual(records, together);
    },
  },
  {
    paragraph: "Limits",
    name: `GET ${path} caps a larger page size silently`,
    async run(service) {
      const page = assertPage(await service.get(`${path}?pageSize=1000`), table);
      assert.equal(page.pageSize, MAX_PAGE_SIZE);
      assert.equal(page.value.length, Math.min(MAX_PAGE_SIZE, page.totalCount));
    },
  },
  {
    paragraph,
    name: `GET ${path} ends with a page that has no more`,
    async run(service) {
      const { pageCount, totalCount } = assertPage(await service.get(`${path}?pageSize=250`), table);
      const last = assertPage(await service.get(`${path}?pageSize=250&page=${pageCount}`), table);
      assert.equal(last.hasMore, false);
      assert.equal(last.value.length, totalCount - 250 * (pageCount - 1));
    },
  },
  {
    paragraph,
    name: `GET ${path} ignores an invalid sort column`,
    async run(service) {
      const plain = assertPage(await service.get(`${path}?pageSize=10`), table);
      const odd = assertPage(await service.get(`${path}?pageSize=10&sort=no-such-column`), table);
      assert.deepEqual(odd.value, plain.value);
    },
  },
]);

export const PAGING: readonly Check[] = [
  ...perList,
  {
    paragraph,
    name: "sort=shortID&direction=DESC turns GET /Item round",
    async run(service) {
      const params = sortProbe.params(ITEMS);
      const up = assertPage(await service.get(withQuery(ITEMS.path, { ...params, direction: "ASC" })), ITEM);
      assert.equal(up.hasMore, false);
      const down = assertPage(await service.get(withQuery(ITEMS.path, params)), ITEM);
      assert.notEqual(sortProbe.isHonoured(down, ITEMS), false);
      assert.deepEqual(down.value, [...up.value].reverse());
    },
  },
  {
    paragraph,
    name: "modifiedSince keeps records modified on or after it",
    async run(service) {
      const all = assertPage(await service.get("/Item?pageSize=250"), ITEM);
      const times = all.value.map(({ modified }: { modified: string }) => modified).sort();
      const middle = times[Math.floor(times.length / 2)];
      assert.ok(middle !== undefined);
      const path = `/Item?pageSize=250&modifiedSince=${encodeURIComponent(middle)}`;
      const { value } = assertPage(await service.get(path), ITEM);
      assert.ok(value.length > 0, "a record modified at that very moment belongs to them");
      for (const { modified } of value) assert.ok(Date.parse(modified) >= Date.parse(middle));
      const none = assertPage(await service.get(withQuery(ITEMS.path, modifiedSinceProbe.params())), ITEM);
      assert.equal(
        modifiedSinceProbe.conclude({ page: none }, { page: all }),
        "honoured",
        "no record was modified in the future",
      );
    },
  },
];
