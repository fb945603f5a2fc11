import * as z from "zod";
import type { Lot } from "../../schemas/lot.js";
import type { EndpointContext } from "../http/endpoint.js";
import {
  integerNumber,
  optionalDateFilter,
  optionalFilter,
  parseBodyFields,
  positiveNumber,
  requiredString,
} from "../http/fields.js";
import type { SandboxResponse } from "../http/response.js";
import { findTransactionItem, type PickedLot, pickLots } from "./picking.js";
import { transactionResponse } from "./transaction.js";
import { assertWarehouseInScope } from "./warehouse-scope.js";

const moveRequestSchema = z.object({
  itemID: requiredString(),
  units: positiveNumber(),
  wid: integerNumber(),
  fromSpot: optionalFilter(),
  toSpot: optionalFilter(),
  shipToWid: integerNumber().optional(),
  transitSlip: z.string().optional(),
  serial: optionalFilter(),
  serial2: optionalFilter(),
  rfidTag: optionalFilter(),
  reference: z.string().optional(),
  recno: integerNumber().optional(),
  received: optionalDateFilter(),
});

/** Where stock goes; a missing field stays unchanged. */
type MoveDestination = Pick<Lot, "wID" | "warehouse"> & Partial<Pick<Lot, "spot">>;

/** POST /Inventory/Move: to another bin, or to another warehouse that is in scope as well. */
export function handleMove(context: EndpointContext): SandboxResponse {
  const { state, settings, now, client } = context;
  const move = parseBodyFields(moveRequestSchema, context.json());
  assertWarehouseInScope(context, move.wid);
  if (move.shipToWid !== undefined) assertWarehouseInScope(context, move.shipToWid);
  const { partNo, shortID } = findTransactionItem(context, move.itemID);
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

  if (moved.length > 0) {
    const { units, wid, shipToWid } = move;
    const other = shipToWid === undefined ? {} : { shipToWid };
    context.emitTransaction({ kind: "move", at: now, clientId: client.clientId, shortID, units, wid, ...other, recNo });
  }
  return transactionResponse(200, settings.moveForm, recNo, "moved");
}

/** Such a lot is neither split nor modified. */
function isAtDestination({ wID, spot }: Lot, destination: MoveDestination): boolean {
  return wID === destination.wID && spot === (destination.spot ?? spot);
}

/** A whole lot keeps its record; part of one becomes a new lot with the same date of receipt. */
function moveLot({ state, now }: EndpointContext, { lot, taken, left }: PickedLot, destination: MoveDestination): Lot {
  if (left.eq(0)) return state.stock.changeLot(lot, destination, now);
  state.stock.changeLot(lot, { units: left.toNumber() }, now);
  return state.stock.addLot({ ...lot, ...destination, units: taken.toNumber() }, now);
}
