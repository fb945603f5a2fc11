import type { InventoryClient } from "../../client.js";
import type { RequestOptions } from "../../core/request/options.js";
import {
  type DocumentedList,
  MAX_PAGE_SIZE,
  modifiedSinceProbe,
  sortProbe,
  undocumentedPageCap,
} from "../list-probes.js";
import { type Finding, note, ok, problem, TRY_LATER_HINT } from "./finding.js";
import type { PageReader, ProbedPage, ServiceProbe } from "./service-probe.js";

/** Parameters that each list takes. */
interface ListParams {
  sort?: string;
  direction?: "ASC" | "DESC";
  modifiedSince?: string;
  pageSize: number;
}

const OPEN: Readonly<
  Record<DocumentedList["name"], (client: InventoryClient, params: ListParams, options: RequestOptions) => PageReader>
> = {
  items: (client, params, options) => client.items.list(params, options),
  lots: (client, params, options) => client.inventory.listLots(params, options),
  stockLevels: (client, params, options) => client.inventory.listStockLevels(params, options),
};

/** What is known about a list after its two requests. */
export interface ListFacts {
  list: DocumentedList;
  /** Sorted, with the largest page. */
  first: ProbedPage;
  /** Undefined if the list is too short to tell. */
  honoursSort: boolean | undefined;
  /** Undefined if the list is empty. */
  changes: ProbedPage | undefined;
  /** Undefined if the list is empty, or the request for changes failed. */
  honoursModifiedSince: boolean | undefined;
}

/** Two requests: one sorted, one for changes. */
export async function probeList(probe: ServiceProbe, list: DocumentedList): Promise<ListFacts> {
  const read = (params: ListParams) => probe.page((client, options) => OPEN[list.name](client, params, options));
  const first = await read(sortProbe.params(list));
  const { page } = first;
  const changes = page?.totalCount ? await read(modifiedSinceProbe.params()) : undefined;
  return {
    list,
    first,
    honoursSort: page && sortProbe.isHonoured(page, list),
    changes,
    honoursModifiedSince: changes?.page && modifiedSinceProbe.isHonoured(changes.page),
  };
}

export function listFindings({ list, first, honoursSort, changes, honoursModifiedSince }: ListFacts): Finding[] {
  const { path, name, key, unusualDirection } = list;
  const { page } = first;
  if (!page) return [unreadableFinding(name, path, first)];
  const findings = [ok(name, `GET ${path}: ${page.totalCount} records`)];
  const cap = undocumentedPageCap(page);
  if (cap !== undefined) {
    const summary = `GET ${path}: a page has at most ${cap} records, not ${MAX_PAGE_SIZE}`;
    const hint = `The complete list takes ${Math.ceil(page.totalCount / cap)} requests. The client adapts to this.`;
    findings.push(note(name, summary, hint));
  }
  if (honoursSort === false) {
    const hint = "gapless reads still return every record: they recognise records by their keys.";
    findings.push(note(name, `GET ${path}: sort=${key}&direction=${unusualDirection} is ignored`, hint));
  }
  if (honoursModifiedSince === false) {
    findings.push(note(name, `GET ${path}: modifiedSince is ignored`, NO_CHANGES_HINT));
  } else if (changes?.error) {
    findings.push(note(name, `with modifiedSince: ${changes.error.message}`, NO_CHANGES_HINT));
  }
  return findings;
}

const NO_CHANGES_HINT = "A mirror reads this list completely in every run, and export --since cannot select changes.";

const HINTS: Readonly<Record<number, string>> = {
  200: "Check the base URL: this may be another service, or a login page.",
  403: "Ask the operators of the service for the permission, or for the warehouses.",
  404: "Check the base URL: it ends with the version segment, for example /api/v1.",
};

function unreadableFinding(name: string, path: string, { error, response }: ProbedPage): Finding {
  const hint = HINTS[response.status] ?? TRY_LATER_HINT;
  return problem(name, error?.message ?? `GET ${path}: ${response.status}`, hint);
}
