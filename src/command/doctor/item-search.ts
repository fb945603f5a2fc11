import type { ResponseInfo } from "../../core/request/options.js";
import { PaginationError } from "../../errors/index.js";
import { fieldOf } from "../../errors/unknown-value.js";
import { LISTS } from "../../service/lists.js";
import { plural } from "../terminal.js";
import { type Finding, note, ok } from "./finding.js";
import type { ListFacts } from "./lists.js";
import type { ServiceProbe } from "./service-probe.js";

/** Whether lots and stock level of one item can be searched by `sort=partNo`, and how many requests that takes. */
export async function itemSearchFindings(probe: ServiceProbe, lists: readonly ListFacts[]): Promise<Finding[]> {
  const pageOf = (name: string) => lists.find(({ list }) => list.name === name)?.first?.page;
  const lots = pageOf("lots")?.value ?? [];
  const shortID = fieldOf(lots[Math.floor(lots.length / 2)], "shortID");
  if (typeof shortID !== "string" || shortID === "" || probe.withoutResponse.length > 0) return [];
  const { inventory } = probe.client;
  const searches = [
    { name: "stockLevels", what: "the stock level", search: inventory.getStockLevel },
    { name: "lots", what: "the lots", search: inventory.getLots },
  ] as const;
  const findings: Finding[] = [];
  for (const { name, what, search } of searches) {
    if (!pageOf(name)) continue;
    let requests = 0;
    const onResponse = ({ attempts }: ResponseInfo) => {
      requests = attempts;
    };
    const { path } = LISTS[name];
    try {
      await search(shortID, {}, { signal: probe.signal, retry: false, ifUnsorted: "error", onResponse });
      findings.push(ok(name, `GET ${path}: ${what} of ${shortID} took ${plural(requests, "request")}`));
    } catch (error) {
      if (probe.signal?.aborted) throw error;
      // What else goes wrong is among the findings about the lists.
      if (!(error instanceof PaginationError)) return findings;
      findings.push(note(name, `GET ${path}: sort=partNo is not honoured`, UNSORTED_HINT));
    }
  }
  return findings;
}

const UNSORTED_HINT =
  "getStockLevel and getLots read the whole list for one item. Keep a mirror (stocklot mirror), and query that instead.";
