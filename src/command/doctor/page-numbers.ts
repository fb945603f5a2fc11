import { fieldOf } from "../../errors/unknown-value.js";
import type { Page } from "../../paging/page.js";
import { sortProbe } from "../list-probes.js";
import { type Finding, problem } from "./finding.js";
import type { ListFacts } from "./lists.js";
import type { ProbedPage, ServiceProbe } from "./service-probe.js";

const HINT =
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
    return [problem("pages", `GET ${list.path}: pages are counted from 0${reported}`, HINT)];
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
