import type { Page } from "../../client/index.js";
import { type DocumentedList, MAX_PAGE_SIZE } from "../../service/lists.js";
import { fieldOf } from "../../shared/unknown.js";
import { type ListParams, modifiedSinceProbe, openList, sortProbe, undocumentedPageCap } from "../list-probes.js";
import { plural } from "../terminal.js";
import { type Finding, note, ok, problem } from "./finding.js";
import type { ProbedPage, ServiceProbe } from "./service-probe.js";
import { problemOf } from "./unreadable.js";

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
    probe.page(list.path, (client, options) => openList(client, list.name, params, options));
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
    const hint =
      "gapless reads rely on this order: they may miss records while others are added or removed, and log a warning.";
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

const PAGES_FROM_ZERO_HINT =
  "The client begins with page 1, as documented, so the first page is missing in every read. Ask the operators of the service.";

/**
 * Whether the first page has the number 0. A service that is suspected to count so is asked for page 0: for others that page
 * does not exist, or is page 1.
 */
export async function pageNumberFindings(
  probe: ServiceProbe,
  lists: readonly ListFacts[],
  allItems: ProbedPage | undefined,
): Promise<Finding[]> {
  const suspect = lists.find((facts) => facts.first?.page && isSuspicious(facts, facts.first.page, allItems));
  const page = suspect?.first?.page;
  if (!suspect || !page) return [];
  const { list } = suspect;
  const reported = page.page === 1 ? "" : `, and page 1 is reported as page ${page.page}`;
  const zero = await readPageZero(probe, suspect);
  const first = fieldOf(zero[0], list.stableSort);
  if (first !== undefined && first !== fieldOf(page.value[0], list.stableSort))
    return [problem("pages", `GET ${list.path}: pages are counted from 0${reported}`, PAGES_FROM_ZERO_HINT)];
  if (reported === "") return [];
  const hint = "Reads rely on the numbers of pages. Ask the operators to correct it.";
  return [problem("pages", `GET ${list.path}: page 1 is reported as page ${page.page}`, hint)];
}

/** Page 1 has another number, or lacks records, or does not begin with the first item. */
function isSuspicious(
  { list }: ListFacts,
  { page, value, totalCount, pageSize }: Page<object>,
  allItems: ProbedPage | undefined,
): boolean {
  if (page !== 1 || value.length < Math.min(totalCount, pageSize)) return true;
  if (list.name !== "items") return false;
  // Both are sorted alike, but have pages of different sizes: only pages that are counted from 1 begin with the same item.
  const firstActive = allItems?.page?.value.find((item) => fieldOf(item, "discontinued") === false);
  return firstActive !== undefined && fieldOf(firstActive, list.stableSort) !== fieldOf(value[0], list.stableSort);
}

/** Its records; none if the service refuses it. */
async function readPageZero({ client, signal }: ServiceProbe, { list }: ListFacts): Promise<unknown[]> {
  const query = { page: 0, ...sortProbe.params(list) };
  const body = await client
    .request({ method: "GET", path: list.path, query }, { signal, retry: false })
    .catch((error: unknown) => {
      if (signal?.aborted) throw error;
    });
  const value = fieldOf(body, "value");
  return Array.isArray(value) ? value : [];
}

/** Records of one key on one page. */
function duplicateFindings(name: string, path: string, key: string, records: readonly object[]): Finding[] {
  const seen = new Map<unknown, object>();
  for (const record of records) {
    const value = fieldOf(record, key);
    const other = seen.get(value);
    if (value === undefined || other === undefined) {
      seen.set(value, record);
      continue;
    }
    const summary = `GET ${path}: ${key} ${JSON.stringify(value)} is twice on page 1`;
    return JSON.stringify(other) === JSON.stringify(record)
      ? [note(name, summary, "Lists, exports and mirrors contain the record once.")]
      : [
          problem(
            name,
            `${summary}, with different values`,
            "Only one of them is listed. Ask the operators to correct it.",
          ),
        ];
  }
  return [];
}
