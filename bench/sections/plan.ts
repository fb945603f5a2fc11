import type { DesiredItem } from "stocklot/plan";
import { BUILT_PACKAGE } from "../paths.js";
import type { Section } from "../results.js";
import { openClient } from "../stocklot.js";

const PAGE_SIZE = 250;
const CHANGED_SHARE = 0.05;
const MIB = 2 ** 20;

const itemAt = (index: number) => ({
  partNo: index + 1,
  shortID: `SKU-${String(index).padStart(7, "0")}`,
  description: `Item number ${index}, as the catalog describes it`,
  category: index % 50,
  subCategory: index % 7,
  uOM: "EA",
  putUp: "box",
  units: 1,
  dfltOwner: 0,
  created: "2026-01-01T00:00:00Z",
  modified: "2026-01-01T00:00:00Z",
  discontinued: false,
});

/** Returns a fetch function that computes a catalog page by page, so that the catalog takes no memory. */
function catalogOf(items: number, requests: { count: number }): typeof fetch {
  return async (input, init) => {
    const { pathname, searchParams } = new URL(new Request(input, init).url);
    if (pathname.endsWith("/Token")) {
      return Response.json({ access_token: "t", token_type: "bearer", expires_in: 3_600 });
    }
    requests.count += 1;
    const page = Number(searchParams.get("page"));
    const pageSize = Math.min(PAGE_SIZE, Number(searchParams.get("pageSize")));
    const start = (page - 1) * pageSize;
    const end = Math.min(items, start + pageSize);
    const value = Array.from({ length: Math.max(0, end - start) }, (_, index) => itemAt(start + index));
    const pageCount = Math.ceil(items / pageSize);
    return Response.json({ value, totalCount: items, page, pageSize, pageCount, hasMore: page < pageCount });
  };
}

async function* rows(items: number): AsyncGenerator<DesiredItem> {
  for (let index = 0; index < items; index += 1) {
    const { shortID, description, category, uOM, putUp, units } = itemAt(index);
    const isChanged = index % Math.round(1 / CHANGED_SHARE) === 0;
    yield { shortID, description: isChanged ? `${description}, changed` : description, category, uOM, putUp, units };
  }
}

/** Measures the requests and the memory of a plan. Rows and catalog have the same size, and 5 % of them differ. */
export async function plan(quick: boolean): Promise<Section> {
  const { planItems } = (await import(new URL("plan.js", BUILT_PACKAGE).href)) as typeof import("stocklot/plan");
  const sizes = quick ? [20_000] : [20_000, 200_000];
  const measured = [];
  for (const items of sizes) {
    const requests = { count: 0 };
    const client = await openClient("https://service.test/api/v1", { fetch: catalogOf(items, requests) });
    globalThis.gc?.();
    const before = process.memoryUsage().heapUsed;
    let peak = 0;
    let pages = 0;
    const startedAt = performance.now();
    const made = await planItems({
      client,
      desired: rows(items),
      onProgress: () => {
        pages += 1;
        if (pages % 40 !== 0) return;
        globalThis.gc?.();
        peak = Math.max(peak, process.memoryUsage().heapUsed - before);
      },
    });
    const seconds = (performance.now() - startedAt) / 1_000;
    if (made.counts.update !== items * CHANGED_SHARE) throw new Error(`${made.counts.update} updates`);
    measured.push({
      items,
      requests: requests.count,
      peak: peak / MIB,
      seconds,
      json: JSON.stringify(made).length / MIB,
    });
  }
  const [small, large = small] = measured;
  return {
    title: "A plan",
    note: "planItems with rows for every item of the catalog, 5 % of which differ in their description. Memory: the highest that is in use after a garbage collection, without the service. Time: without a rate limit and without latency.",
    columns: ["rows", "requests", "memory", "time", "plan as JSON"],
    rows: measured.map(({ items, requests, peak, seconds, json }) => [
      items.toLocaleString("en"),
      { value: requests, digits: 0 },
      { value: peak, digits: 0, unit: "MiB" },
      { value: seconds, digits: 1, unit: "s" },
      { value: json, digits: 1, unit: "MiB" },
    ]),
    checks: [
      { what: "requests for 20,000 rows, beyond the pages of the list, %", value: percentAbove(small), atMost: 15 },
      { what: `memory for ${large?.items.toLocaleString("en")} rows, MiB`, value: large?.peak ?? 0, atMost: 200 },
    ],
  };
}

const percentAbove = (run: { items: number; requests: number } | undefined) =>
  run ? (run.requests / Math.ceil(run.items / PAGE_SIZE) - 1) * 100 : 0;
