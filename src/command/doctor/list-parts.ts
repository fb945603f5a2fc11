/** Whether parts of lists can be read: those of one warehouse, and those of one item. */

import type { ResponseInfo } from "../../client/index.js";
import type { SandboxWarehouse } from "../../sandbox/options/options.js";
import { LISTS } from "../../service/lists.js";
import { PaginationError } from "../../shared/errors/index.js";
import { fieldOf } from "../../shared/unknown.js";
import { plural } from "../terminal.js";
import { type Finding, note, ok, problem } from "./finding.js";
import type { ListFacts } from "./lists.js";
import type { ServiceProbe } from "./service-probe.js";

/** Warehouses on the first page of lots, in the order of their IDs. */
export function seenWarehouses(lists: readonly ListFacts[]): SandboxWarehouse[] {
  const lots = lists.find(({ list }) => list.name === "lots")?.first?.page?.value ?? [];
  const names = new Map<number, string>();
  for (const lot of lots) {
    const wID = fieldOf(lot, "wID");
    const name = fieldOf(lot, "warehouse");
    if (typeof wID !== "number" || !Number.isSafeInteger(wID)) continue;
    names.set(wID, typeof name === "string" && name ? name : `Warehouse ${wID}`);
  }
  return [...names].map(([wID, name]) => ({ wID, name })).sort((one, next) => one.wID - next.wID);
}

/** Such a status proves nothing about the endpoint. */
const isTemporary = (status: number) => status >= 500;

/** Requests for a warehouse, if the service refuses the others. */
const MAX_WAREHOUSE_PROBES = 5;

export async function warehouseFindings(probe: ServiceProbe, lists: readonly ListFacts[]): Promise<Finding[]> {
  const warehouses = seenWarehouses(lists).map(({ wID }) => wID);
  if (warehouses.length === 0) return [];
  const found = ok("warehouses", `on the first page of lots: ${warehouses.join(", ")}`);
  const refused: string[] = [];
  const notesOfRefused = () =>
    refused.map((summary) => note("warehouses", summary, "--wid and mirror --warehouses cannot read this warehouse."));
  for (const wid of warehouses.slice(0, MAX_WAREHOUSE_PROBES)) {
    const path = `/Inventory/${wid}`;
    const probed = await probe.page(path, (client, options) =>
      client.inventory.listLots({ wid, pageSize: 1 }, options),
    );
    if (!probed || probed.page || isTemporary(probed.response.status)) return [found, ...notesOfRefused()];
    refused.push(`GET ${path}: ${probed.response.status}`);
  }
  const which =
    refused.length < warehouses.length ? `the first ${refused.length} warehouses are` : "every warehouse is";
  const hint = "--wid and mirror --warehouses cannot be used. Ask the operators of the service for the warehouses.";
  return [found, problem("warehouses", `${which} refused: ${refused.join(", ")}`, hint)];
}

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
