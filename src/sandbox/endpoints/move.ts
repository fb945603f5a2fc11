import type { Lot } from "../../schemas/lot.js";
import { toNumber } from "../decimal.js";
import type { EndpointContext } from "../http/endpoint.js";
import { type Model, readModel } from "../http/model.js";
import type { SandboxResponse } from "../http/response.js";
import { findItem, type PickedLot, pickLots } from "./picking.js";
import { transactionResponse } from "./transaction.js";
import { assertInScope } from "./warehouse-scope.js";

const MOVE = {
  itemID: { kind: "text", required: true },
  units: { kind: "decimal", required: true, positive: true },
  wid: { kind: "integer", required: true },
  fromSpot: { kind: "text", blankIsNone: true },
  toSpot: { kind: "text", blankIsNone: true },
  shipToWid: { kind: "integer" },
  transitSlip: { kind: "text" },
  serial: { kind: "text", blankIsNone: true },
  serial2: { kind: "text", blankIsNone: true },
  rfidTag: { kind: "text", blankIsNone: true },
  reference: { kind: "text" },
  recno: { kind: "integer" },
  received: { kind: "dateFilter", blankIsNone: true },
} as const satisfies Model;

/** Where stock goes: what is left out stays as it is. */
type Destination = Pick<Lot, "wID" | "warehouse"> & Partial<Pick<Lot, "spot">>;

/** POST /Inventory/Move: to another bin, or to another warehouse that is in scope as well. */
export function moveStock(context: EndpointContext): SandboxResponse {
  const { state, settings, now, client } = context;
  const move = readModel(context.json(), MOVE);
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

/** Such a lot is not touched at all: it is neither split nor modified. */
function isAtDestination({ wID, spot }: Lot, destination: Destination): boolean {
  return wID === destination.wID && spot === (destination.spot ?? spot);
}

/** A whole lot keeps its record; part of one becomes a lot of its own, as old as the one it came from. */
function relocate({ state, now }: EndpointContext, { lot, taken, left }: PickedLot, destination: Destination): Lot {
  if (left.digits === 0n) return state.stock.changeLot(lot.recNo, destination, now);
  state.stock.changeLot(lot.recNo, { units: toNumber(left) }, now);
  return state.stock.addLot({ ...lot, ...destination, units: toNumber(taken) }, now);
}
