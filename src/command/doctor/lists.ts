import type { InventoryClient } from "../../client.js";
import type { RequestOptions } from "../../core/request/options.js";
import { type DocumentedList, MAX_PAGE_SIZE } from "../../service/lists.js";
import { modifiedSinceProbe, sortProbe, undocumentedPageCap } from "../list-probes.js";
import { plural } from "../terminal.js";
import { type Finding, note, ok, problem } from "./finding.js";
import { duplicateFindings } from "./records.js";
import type { PageReader, ProbedPage, ServiceProbe } from "./service-probe.js";
import { problemOf } from "./unreadable.js";

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
  /** Sorted, with the largest page. Undefined if there was no response. */
  first: ProbedPage | undefined;
  /** Undefined if the list is too short to tell. */
  honoursSort: boolean | undefined;
  /** Undefined if the list is empty. */
  changes: ProbedPage | undefined;
  /** Undefined if the list is empty, or the request for changes failed. */
  honoursModifiedSince: boolean | undefined;
}

/** Two requests: one sorted, one for changes. */
export async function probeList(probe: ServiceProbe, list: DocumentedList): Promise<ListFacts> {
  const read = (params: ListParams) =>
    probe.page(list.path, (client, options) => OPEN[list.name](client, params, options));
  const first = await read(sortProbe.params(list));
  const page = first?.page;
  const changes = page && page.value.length > 0 ? await read(modifiedSinceProbe.params()) : undefined;
  return {
    list,
    first,
    honoursSort: page && sortProbe.isHonoured(page, list),
    changes,
    honoursModifiedSince: changes?.page && modifiedSinceProbe.isHonoured(changes.page),
  };
}

export function listFindings({ list, first, honoursSort, changes, honoursModifiedSince }: ListFacts): Finding[] {
  const { path, name, stableSort } = list;
  const page = first?.page;
  if (!page) return [];
  const findings = [
    ok(name, `GET ${path}: ${page.totalCount} records`),
    ...contradictionFindings(name, path, first),
    ...duplicateFindings(name, path, stableSort, page.value),
  ];
  const cap = undocumentedPageCap(page);
  if (cap !== undefined) {
    const summary = `GET ${path}: a page has at most ${cap} records, not ${MAX_PAGE_SIZE}`;
    const hint = `The complete list takes ${plural(Math.ceil(page.totalCount / cap) || 1, "request")}. The client adapts to this.`;
    findings.push(note(name, summary, hint));
  }
  if (honoursSort === false) {
    const hint = "gapless reads still return every record: they recognise records by their keys.";
    findings.push(
      note(name, `GET ${path}: sort=${stableSort}&direction=${sortProbe.params(list).direction} is ignored`, hint),
    );
  }
  if (honoursModifiedSince === false) {
    findings.push(note(name, `GET ${path}: modifiedSince is ignored`, NO_CHANGES_HINT));
  } else if (changes?.error) {
    findings.push(note(name, `with modifiedSince: ${problemOf(changes.error)}`, NO_CHANGES_HINT));
  } else if (changes?.page && changes.page.totalCount > 0) {
    const summary = `GET ${path}: with modifiedSince there is no record, but totalCount is ${changes.page.totalCount}`;
    findings.push(note(name, summary, CHANGES_TOTAL_HINT));
  }
  return findings;
}

const NO_CHANGES_HINT = "A mirror reads this list completely in every run, and export --since cannot select changes.";

const CHANGES_TOTAL_HINT =
  "A mirror counts changes by totalCount, so it reads this list completely in every run. Ask the operators to correct it.";

/** What the envelope and the headers of a first page report that does not match its records. */
export function contradictionFindings(name: string, path: string, { page, response }: ProbedPage): Finding[] {
  if (!page) return [];
  const { value, totalCount, pageSize, pageCount, hasMore } = page;
  const findings: Finding[] = [];
  const add = (summary: string, hint: string) => findings.push(note(name, `GET ${path}: ${summary}`, hint));
  const headerTotal = response.headers["x-total-count"];
  const expectedPages = Math.ceil(totalCount / pageSize);

  if (!hasMore && value.length < totalCount) {
    const contained = plural(value.length, "record");
    const summary = `the service reports ${totalCount} records, but that page 1 (${contained}) is the last`;
    findings.push(problem(name, `GET ${path}: ${summary}`, LAST_PAGE_HINT));
  } else if (!hasMore && pageCount > 1) {
    const summary = `the service reports ${pageCount} pages, but that page 1 is the last`;
    findings.push(problem(name, `GET ${path}: ${summary}`, LAST_PAGE_HINT));
  } else if (pageSize > 0 && pageCount !== expectedPages && !(totalCount === 0 && pageCount === 1)) {
    const pages = plural(expectedPages, "page");
    add(`pageCount is ${pageCount}, but ${totalCount} records are ${pages} of ${pageSize}`, PAGE_COUNT_HINT);
  }
  if (value.length > totalCount) {
    add(`page 1 contains ${value.length} records, but totalCount is ${totalCount}`, TOTAL_HINT);
  } else if (hasMore && value.length === 0) {
    const summary = "page 1 is empty, but the service reports that more pages follow";
    findings.push(
      problem(name, `GET ${path}: ${summary}`, "Complete reads of this list fail. Ask the operators to correct it."),
    );
  } else if (hasMore && value.length === totalCount) {
    add(`page 1 contains all ${totalCount} records, but the service reports that more pages follow`, MORE_HINT);
  }
  if (headerTotal !== undefined && Number(headerTotal) !== totalCount) {
    add(`X-Total-Count is ${headerTotal}, but totalCount is ${totalCount}`, TOTAL_HINT);
  }
  return findings;
}

const LAST_PAGE_HINT =
  "Every read ends there, without an error: records are missing in lists, exports and mirrors. Ask the operators to correct hasMore.";
const MORE_HINT =
  "Each complete read requests a page that does not exist, and may fail. Ask the operators to correct hasMore.";
const PAGE_COUNT_HINT = "Reads follow hasMore, so they are complete; only the reported progress is wrong.";
const TOTAL_HINT = "Reads follow hasMore. Counts and the reported progress are based on totalCount.";
