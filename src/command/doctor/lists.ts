import type { InventoryClient } from "../../client.js";
import type { RequestOptions } from "../../core/request/options.js";
import { type Finding, note, ok, problem } from "./finding.js";
import type { PageReader, ProbedPage, ServiceProbe } from "./service-probe.js";

/** Parameters that each list takes. */
interface ListParams {
  sort?: string;
  direction?: "ASC" | "DESC";
  modifiedSince?: string;
  pageSize: number;
}

/** A list of the service, and the column that its probe sorts by. */
interface ListUnderTest {
  name: "items" | "lots" | "stockLevels";
  path: string;
  column: string;
  open(client: InventoryClient, params: ListParams, options: RequestOptions): PageReader;
}

export const LISTS: readonly ListUnderTest[] = [
  {
    name: "items",
    path: "/Item",
    column: "shortID",
    open: (client, params, options) => client.items.list(params, options),
  },
  {
    name: "lots",
    path: "/Inventory",
    column: "recNo",
    open: (client, params, options) => client.inventory.listLots(params, options),
  },
  {
    name: "stockLevels",
    path: "/Inventory/StockLevels",
    column: "partNo",
    open: (client, params, options) => client.inventory.listStockLevels(params, options),
  },
];

/** The largest page that the service's document names. */
const MAX_PAGE_SIZE = 250;

/** What is known about a list after its two probes. */
export interface ListFacts {
  list: ListUnderTest;
  /** Sorted in descending order, with the largest page. */
  first: ProbedPage;
  /** Undefined if the list is too short to tell. */
  honoursSort: boolean | undefined;
  honoursModifiedSince: boolean | undefined;
}

/** Two requests: one sorted, in descending order; one for changes after the year 2999. */
export async function probeList(probe: ServiceProbe, list: ListUnderTest): Promise<ListFacts> {
  const sorted: ListParams = { sort: list.column, direction: "DESC", pageSize: MAX_PAGE_SIZE };
  const first = await probe.page((client, options) => list.open(client, sorted, options));
  if (!first.page?.totalCount) return { list, first, honoursSort: undefined, honoursModifiedSince: undefined };
  const future: ListParams = { modifiedSince: "2999-01-01T00:00:00Z", pageSize: 1 };
  const { page } = await probe.page((client, options) => list.open(client, future, options));
  return {
    list,
    first,
    honoursSort: isDescending(first.page.value, list.column),
    honoursModifiedSince: page?.totalCount === 0,
  };
}

/** Undefined if the values are all equal. */
export function isDescending(records: readonly object[], column: string): boolean | undefined {
  const values = records.map((record): unknown => Reflect.get(record, column));
  if (new Set(values).size < 2) return undefined;
  return values.every((value, index) => {
    const previous = values[index - 1];
    if (index === 0) return true;
    if (typeof value === "number" && typeof previous === "number") return value <= previous;
    // Services compare text by rules of their own: the first letters are enough.
    return initial(value) <= initial(previous);
  });
}

const initial = (value: unknown) => String(value).slice(0, 1).toLowerCase();

export function listFindings({ list, first, honoursSort, honoursModifiedSince }: ListFacts): Finding[] {
  const { path, name, column } = list;
  const { page } = first;
  if (!page) return [unreadableFinding(name, path, first)];
  const findings = [ok(name, `GET ${path}: ${page.totalCount} records`)];
  if (page.pageSize < Math.min(page.totalCount, MAX_PAGE_SIZE)) {
    const summary = `GET ${path}: a page has at most ${page.pageSize} records, not ${MAX_PAGE_SIZE}`;
    const hint = `The complete list takes ${Math.ceil(page.totalCount / page.pageSize)} requests. The client adapts to this.`;
    findings.push(note(name, summary, hint));
  }
  if (honoursSort === false) {
    const hint = "gapless reads still return every record: they recognise records by their keys.";
    findings.push(note(name, `GET ${path}: sort=${column}&direction=DESC is ignored`, hint));
  }
  if (honoursModifiedSince === false) {
    const hint = "A mirror reads this list completely in every run.";
    findings.push(note(name, `GET ${path}: modifiedSince is ignored`, hint));
  }
  return findings;
}

const HINTS: Readonly<Record<number, string>> = {
  200: "Check the base URL: this may be another service, or a login page.",
  403: "Ask the operators of the service for the permission, or for the warehouses.",
  404: "Check the base URL: it ends with the version segment, for example /api/v1.",
};

function unreadableFinding(name: string, path: string, { error, response }: ProbedPage): Finding {
  const hint = HINTS[response.status] ?? "Try again later; if it persists, ask the operators of the service.";
  return problem(name, error?.message ?? `GET ${path}: ${response.status}`, hint);
}
