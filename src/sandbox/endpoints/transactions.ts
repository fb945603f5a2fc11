import { Big } from "big.js";
import * as z from "zod";
import type { Item } from "../../service/item.js";
import type { Lot } from "../../service/lot.js";
import { integer } from "../../shared/field.js";
import { SAMPLE_JOBS, SAMPLE_OWNERS } from "../data/generated-items.js";
import { optionalDateFilter, optionalFilter, parseBodyFields, positiveNumber, requiredString } from "../http/body.js";
import {
  badRequestError,
  conflictError,
  createResponse,
  jsonResponse,
  notFoundError,
  type SandboxResponse,
  validationError,
} from "../http/messages.js";
import type { TransactionForm } from "../options/options.js";
import type { SandboxSettings } from "../options/settings.js";
import { DEFAULT_LOT_FIELDS } from "../state.js";
import { datetimeString, formatIsoTime, matchesDateFilter } from "../values.js";
import { assertWarehouseInScope, type EndpointContext } from "./endpoint.js";

/** What every stock transaction requires. */
const transactionFields = { itemID: requiredString(), units: positiveNumber(), wid: integer() };

/** Which lots a move or an issue may take. */
const selectionFields = {
  serial: optionalFilter(),
  serial2: optionalFilter(),
  rfidTag: optionalFilter(),
  recno: integer().optional(),
};

const receiveRequestSchema = z.object({
  ...transactionFields,
  reasonCode: integer(),
  spot: z.string().optional(),
  serial: z.string().optional(),
  serial2: z.string().optional(),
  rfidTag: z.string().optional(),
  reference: z.string().optional(),
  remark: z.string().optional(),
  netWeight: z.number().optional(),
  grossWeight: z.number().optional(),
  price: z.number().optional(),
  expires: datetimeString().optional(),
  supplier: integer().optional(),
  line: integer().optional(),
  jobid: integer().optional(),
});

/** POST /Inventory/Receive: creates a lot. */
export function handleReceive(context: EndpointContext): SandboxResponse {
  const { state, settings, now } = context;
  const receipt = parseBodyFields(receiveRequestSchema, context.json());
  assertAllowedReasonCode(receipt.reasonCode, settings);
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
  return transactionResponse(settings.receiveStatus, settings.receiveForm, recNo, "received");
}

const moveRequestSchema = z.object({
  ...transactionFields,
  ...selectionFields,
  fromSpot: optionalFilter(),
  toSpot: optionalFilter(),
  shipToWid: integer().optional(),
  transitSlip: z.string().optional(),
  reference: z.string().optional(),
  received: optionalDateFilter(),
});

/** Where stock goes; a missing field stays unchanged. */
type MoveDestination = Pick<Lot, "wID" | "warehouse"> & Partial<Pick<Lot, "spot">>;

/** POST /Inventory/Move: to another bin, or to another warehouse that is in scope as well. */
export function handleMove(context: EndpointContext): SandboxResponse {
  const { state, settings } = context;
  const move = parseBodyFields(moveRequestSchema, context.json());
  assertWarehouseInScope(context, move.wid);
  if (move.shipToWid !== undefined) assertWarehouseInScope(context, move.shipToWid);
  const { partNo } = findTransactionItem(context, move.itemID);
  const picks = pickLots(context, { ...move, partNo, spot: move.fromSpot });

  const wID = move.shipToWid ?? move.wid;
  const destination = {
    wID,
    warehouse: state.warehouses.get(wID) ?? "",
    ...(move.toSpot !== undefined && { spot: move.toSpot }),
  };
  const moved = picks
    .filter(({ lot }) => !isAtDestination(lot, destination))
    .map((picked) => moveLot(context, picked, destination));
  const recNo = moved[0]?.recNo ?? picks[0].lot.recNo;

  return transactionResponse(200, settings.moveForm, recNo, "moved");
}

/** Such a lot is neither split nor modified. */
function isAtDestination({ wID, spot }: Lot, destination: MoveDestination): boolean {
  return wID === destination.wID && spot === (destination.spot ?? spot);
}

/** A whole lot keeps its record; part of one becomes a new lot with the same date of receipt. */
function moveLot({ state, now }: EndpointContext, { lot, taken, left }: PickedLot, destination: MoveDestination): Lot {
  if (left.eq(0)) return state.lots.change(lot, destination, now);
  state.lots.change(lot, { units: left.toNumber() }, now);
  return state.lots.add({ ...lot, ...destination, units: taken.toNumber() }, now);
}

const issueRequestSchema = z.object({
  ...transactionFields,
  ...selectionFields,
  reasonCode: integer(),
  spot: optionalFilter(),
  reference: z.string().optional(),
  remark: z.string().optional(),
  netWeight: z.number().optional(),
  shipto: integer().optional(),
  prodID: z.string().optional(),
  line: integer().optional(),
});

/** POST /Inventory/Issue: takes stock out of the lots that fit; a lot that is used up is shipped. */
export function handleIssue(context: EndpointContext): SandboxResponse {
  const { state, settings, now } = context;
  const issue = parseBodyFields(issueRequestSchema, context.json());
  assertAllowedReasonCode(issue.reasonCode, settings);
  assertWarehouseInScope(context, issue.wid);
  const { partNo } = findTransactionItem(context, issue.itemID);
  const picks = pickLots(context, { ...issue, partNo });

  for (const { lot, left } of picks) {
    const usedUp = left.eq(0);
    state.lots.change(lot, { units: left.toNumber(), ...(usedUp && { shipped: formatIsoTime(now) }) }, now);
  }
  const { recNo } = picks[0].lot;
  return transactionResponse(200, settings.issueForm, recNo, "issued");
}

/** The response to a transaction, in the form of the options: the document does not show one. */
function transactionResponse(status: number, form: TransactionForm, recNo: number, done: string): SandboxResponse {
  if (typeof form === "function") return jsonResponse(status, form(recNo));
  switch (form) {
    case "number":
      return jsonResponse(status, recNo);
    case "text":
      return createResponse(status, String(recNo), "text/plain");
    case "nested":
      return jsonResponse(status, { data: { recNo } });
    case "empty":
      return createResponse(status);
    case "object":
      return jsonResponse(status, { recNo, status: done });
  }
}

/** Throws the validation error for a reason code that the options do not allow. */
function assertAllowedReasonCode(code: number, { reasonCodes }: SandboxSettings): void {
  if (reasonCodes && !reasonCodes.includes(code)) {
    throw validationError({ reasonCode: [`The field reasonCode must be one of ${reasonCodes.join(", ")}.`] });
  }
}

/** The filters of a move or an issue. */
interface LotSelection extends z.infer<z.ZodObject<typeof selectionFields>> {
  readonly partNo: number;
  readonly wid: number;
  readonly units: number;
  readonly spot?: string | undefined;
  /** Receipt date, or its beginning. */
  readonly received?: string | undefined;
}

/** A lot, and how much of it is taken. */
interface PickedLot {
  readonly lot: Lot;
  readonly taken: Big;
  readonly left: Big;
}

/** Takes the quantity from the matching lots, oldest first. Throws if there is not enough. */
function pickLots({ state, settings }: EndpointContext, selection: LotSelection): [PickedLot, ...PickedLot[]] {
  const wanted = new Big(selection.units);
  const picks: PickedLot[] = [];
  let found = new Big(0);
  const shelf = state.lots.openLots(selection.partNo, selection.wid);
  for (const lot of shelf) {
    if (!matchesSelection(lot, selection) || (lot.hold && settings.heldLots === "refuse")) continue;
    const units = new Big(lot.units);
    const taken = smallerOf(units, wanted.minus(found));
    picks.push({ lot, taken, left: units.minus(taken) });
    found = found.plus(taken);
    if (found.gte(wanted)) break;
  }
  const [first, ...others] = picks;
  if (!first || found.lt(wanted)) {
    // Every matching lot was picked, so a filter or a hold has excluded the other open lots.
    const reason = shelf.length > picks.length ? "match" : "are in stock";
    throw conflictError(settings.shortageStatus, `Only ${found.toNumber()} of ${selection.units} units ${reason}.`);
  }
  return [first, ...others];
}

function findTransactionItem({ state, settings }: EndpointContext, itemID: string): Item {
  const stored = state.catalog.findBySku(itemID);
  if (stored) return stored.item;
  const message = `Item ${itemID} does not exist.`;
  throw settings.unknownItemStatus === 404 ? notFoundError(message) : badRequestError(message);
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

function smallerOf(a: Big, b: Big): Big {
  return a.lt(b) ? a : b;
}
