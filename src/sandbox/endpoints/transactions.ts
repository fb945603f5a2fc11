import * as z from "zod";
import type { Item } from "../../service/item.js";
import type { Lot } from "../../service/lot.js";
import { issueInputSchema, moveInputSchema, receiveInputSchema } from "../../service/transaction.js";
import { SAMPLE_JOBS, SAMPLE_OWNERS } from "../data/generated-items.js";
import { optionalFilter, parseBodyFields, requiredString } from "../http/body.js";
import { badRequestError, jsonResponse, type SandboxResponse } from "../http/messages.js";
import { withoutUndefined } from "../options/settings.js";
import { DEFAULT_LOT_FIELDS } from "../state.js";
import { addDecimals, datetimeString, formatIsoTime, matchesDateFilter } from "../values.js";
import { assertWarehouseInScope, type EndpointContext } from "./endpoint.js";

/*
 * The bodies of the transactions have the documented fields. Fields that the service does not document are ignored.
 */

/** Which lots a move or an issue may take. */
const filterFields = { serial: optionalFilter(), serial2: optionalFilter(), rfidTag: optionalFilter() };

const receiveRequestSchema = z.object({
  ...receiveInputSchema().shape,
  itemID: requiredString(),
  expires: datetimeString().optional(),
});

/** POST /Inventory/Receive: creates a lot. */
export function handleReceive(context: EndpointContext): SandboxResponse {
  const { state, now } = context;
  const receipt = parseBodyFields(receiveRequestSchema, context.json());
  assertWarehouseInScope(context, receipt.wid);
  const { partNo, shortID, description, dfltOwner } = findTransactionItem(context, receipt.itemID);
  const job = SAMPLE_JOBS.find(({ id }) => id === receipt.jobid);

  const { recNo } = state.lots.add(
    {
      ...DEFAULT_LOT_FIELDS,
      partNo,
      shortID,
      description,
      associate: SAMPLE_OWNERS.find(({ id }) => id === dfltOwner)?.name ?? "",
      warehouse: state.warehouses.get(receipt.wid) ?? "",
      wID: receipt.wid,
      spot: receipt.spot ?? "",
      units: receipt.units,
      received: formatIsoTime(now),
      serial: receipt.serial ?? "",
      serial2: receipt.serial2 ?? null,
      rFIDTag: receipt.rfidTag ?? null,
      remark: receipt.remark ?? "",
      jobID: receipt.jobid ?? 0,
      jobName: job?.name ?? null,
    },
    now,
  );
  return jsonResponse(201, { recNo, status: "received" });
}

const moveRequestSchema = z.object({
  ...moveInputSchema().shape,
  itemID: requiredString(),
  ...filterFields,
  fromSpot: optionalFilter(),
  toSpot: optionalFilter(),
  received: optionalFilter(),
});

/** POST /Inventory/Move: moves stock to another bin, or to another warehouse that is also in scope. */
export function handleMove(context: EndpointContext): SandboxResponse {
  const { state, now } = context;
  const move = parseBodyFields(moveRequestSchema, context.json());
  assertWarehouseInScope(context, move.wid);
  const wID = move.shipToWid ?? move.wid;
  if (wID !== move.wid) assertWarehouseInScope(context, wID);
  const item = findTransactionItem(context, move.itemID);
  const destination = { wID, warehouse: state.warehouses.get(wID) ?? "", ...withoutUndefined({ spot: move.toSpot }) };
  // Stock that lies there already cannot be moved there.
  const isElsewhere = (lot: Lot) => lot.wID !== wID || lot.spot !== (move.toSpot ?? lot.spot);
  const picks = pickLots(context, { ...move, item, spot: move.fromSpot }, isElsewhere);

  const [first] = picks.map(({ lot, taken, left }) => {
    // A whole lot keeps its record; part of one becomes a new lot with the same date of receipt.
    if (left === 0) return state.lots.change(lot, destination, now);
    state.lots.change(lot, { units: left }, now);
    return state.lots.add({ ...lot, ...destination, units: taken }, now);
  });
  return jsonResponse(200, { recNo: first?.recNo, status: "moved" });
}

const issueRequestSchema = z.object({
  ...issueInputSchema().shape,
  itemID: requiredString(),
  ...filterFields,
  spot: optionalFilter(),
});

/** POST /Inventory/Issue: takes stock out of the lots that fit; a lot that is used up is shipped. */
export function handleIssue(context: EndpointContext): SandboxResponse {
  const { state, now } = context;
  const issue = parseBodyFields(issueRequestSchema, context.json());
  assertWarehouseInScope(context, issue.wid);
  const item = findTransactionItem(context, issue.itemID);
  const picks = pickLots(context, { ...issue, item });
  for (const { lot, left } of picks) {
    const usedUp = left === 0;
    state.lots.change(lot, { units: left, ...(usedUp && { shipped: formatIsoTime(now) }) }, now);
  }
  return jsonResponse(200, { recNo: picks[0].lot.recNo, status: "issued" });
}

interface LotSelection extends z.infer<z.ZodObject<typeof filterFields>> {
  readonly item: Item;
  readonly wid: number;
  readonly units: number;
  readonly recno?: number | undefined;
  readonly spot?: string | undefined;
  /** Receipt date, or its beginning. */
  readonly received?: string | undefined;
}

/** Takes the quantity from the matching lots, oldest first. Throws if there is not enough. */
function pickLots({ state }: EndpointContext, selection: LotSelection, mayTake: (lot: Lot) => boolean = () => true) {
  const picks: { lot: Lot; taken: number; left: number }[] = [];
  let missing = selection.units;
  const open = state.lots.openLots(selection.item.partNo, selection.wid);
  for (const lot of open.filter((lot) => matchesSelection(lot, selection) && mayTake(lot))) {
    const taken = Math.min(lot.units, missing);
    picks.push({ lot, taken, left: addDecimals(lot.units, -taken) });
    missing = addDecimals(missing, -taken);
    if (missing === 0) break;
  }
  const [first, ...others] = picks;
  if (first && missing === 0) return [first, ...others] as const;
  // Every matching lot was picked, so a filter, or the destination, has excluded the other open lots.
  const reason = open.length > picks.length ? "match" : "are in stock";
  const isThere = open.some((lot) => matchesSelection(lot, selection) && !mayTake(lot));
  const hint = isThere ? " Others are at the destination already: the move would not change them." : "";
  const found = addDecimals(selection.units, -missing);
  throw badRequestError(`Only ${found} of ${selection.units} units ${reason}.${hint}`);
}

function findTransactionItem({ state }: EndpointContext, itemID: string): Item {
  const stored = state.catalog.findBySku(itemID);
  if (stored) return stored.item;
  throw badRequestError(`Item ${itemID} does not exist.`);
}

function matchesSelection(lot: Lot, { recno, spot, serial, serial2, rfidTag, received }: LotSelection): boolean {
  return (
    (recno === undefined || lot.recNo === recno) &&
    (spot === undefined || lot.spot === spot) &&
    (serial === undefined || lot.serial === serial) &&
    (serial2 === undefined || lot.serial2 === serial2) &&
    (rfidTag === undefined || lot.rFIDTag === rfidTag) &&
    (received === undefined || matchesDateFilter(lot.received, received))
  );
}
