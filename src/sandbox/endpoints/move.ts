import * as z from "zod";
import type { Lot } from "../../schemas/lot.js";
import type { EndpointContext } from "../http/endpoint.js";
import {
  dateFilterField,
  filterField,
  integerField,
  positiveField,
  readFields,
  requiredStringField,
} from "../http/fields.js";
import type { SandboxResponse } from "../http/response.js";
import { findItem, type PickedLot, pickLots } from "./picking.js";
import { transactionResponse } from "./transaction.js";
import { assertInScope } from "./warehouse-scope.js";

const moveSchema = z.object({
  itemID: requiredStringField(),
  units: positiveField(),
  wid: integerField(),
  fromSpot: filterField(),
  toSpot: filterField(),
  shipToWid: integerField().optional(),
  transitSlip: z.string().optional(),
  serial: filterField(),
  serial2: filterField(),
  rfidTag: filterField(),
  reference: z.string().optional(),
  recno: integerField().optional(),
  received: dateFilterField(),
});

/** Where stock goes; a missing field stays unchanged. */
type Destination = Pick<Lot, "wID" | "warehouse"> & Partial<Pick<Lot, "spot">>;

/** POST /Inventory/Move: to another bin, or to another warehouse that is in scope as well. */
export function moveStock(context: EndpointContext): SandboxResponse {
  const { state, settings, now, client } = context;
  const move = readFields(moveSchema, context.json());
  assertInScope(context, move.wid);
  if (move.shipToWid !== undefined) assertInScope(context, move.shipToWid);
  const { partNo, shortID } = findItem(context, move.itemID);
  const picks = pickLots(context, { ...move, partNo, spot: move.fromSpot });

  const wID = move.shipToWid ?? move.wid;
  const destination = {
    wID,
    warehouse: state.warehouses.get(wID) ?? "",
    ...(move.toSpot !== undefined && { spot: move.toSpot }),
  };
  const moved = picks
    .filter(({ lot }) => !isAtDestination(lot, destination))
    .map((picked) => relocate(context, picked, destination));
  const recNo = moved[0]?.recNo ?? picks[0].lot.recNo;

  if (moved.length > 0) {
    const { units, wid, shipToWid } = move;
    const other = shipToWid === undefined ? {} : { shipToWid };
    context.emitTransaction({ kind: "move", at: now, clientId: client.clientId, shortID, units, wid, ...other, recNo });
  }
  return transactionResponse(200, settings.moveForm, recNo, "moved");
}

/** Such a lot is neither split nor modified. */
function isAtDestination({ wID, spot }: Lot, destination: Destination): boolean {
  return wID === destination.wID && spot === (destination.spot ?? spot);
}

/** A whole lot keeps its record; part of one becomes a new lot with the same date of receipt. */
function relocate({ state, now }: EndpointContext, { lot, taken, left }: PickedLot, destination: Destination): Lot {
  if (left.eq(0)) return state.stock.changeLot(lot.recNo, destination, now);
  state.stock.changeLot(lot.recNo, { units: left.toNumber() }, now);
  return state.stock.addLot({ ...lot, ...destination, units: taken.toNumber() }, now);
}
