import type { Lot } from "../../schemas/lot.js";
import { toNumber } from "../decimal.js";
import type { Call } from "../http/call.js";
import { type Model, readModel } from "../http/model.js";
import type { Reply } from "../http/reply.js";
import { itemNamed, type Picked, pickLots } from "./picking.js";
import { demandInScope } from "./scope.js";
import { transactionReply } from "./transaction-form.js";

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
export function moveStock(call: Call): Reply {
  const { state, settings, now, client } = call;
  const move = readModel(call.json(), MOVE);
  demandInScope(call, move.wid);
  if (move.shipToWid !== undefined) demandInScope(call, move.shipToWid);
  const { partNo, shortID } = itemNamed(call, move.itemID);
  const picks = pickLots(call, { ...move, partNo, spot: move.fromSpot });

  const wID = move.shipToWid ?? move.wid;
  const destination = {
    wID,
    warehouse: state.warehouses.get(wID) ?? "",
    ...(move.toSpot !== undefined && { spot: move.toSpot }),
  };
  const moved = picks
    .filter(({ lot }) => !isThere(lot, destination))
    .map((picked) => relocate(call, picked, destination));
  const recNo = moved[0]?.recNo ?? picks[0].lot.recNo;

  if (moved.length > 0) {
    const { units, wid, shipToWid } = move;
    const other = shipToWid === undefined ? {} : { shipToWid };
    call.announce({ kind: "move", at: now, clientId: client.clientId, shortID, units, wid, ...other, recNo });
  }
  return transactionReply(200, settings.moveForm, recNo, "moved");
}

/** Such a lot is not touched at all: it is neither split nor modified. */
function isThere({ wID, spot }: Lot, destination: Destination): boolean {
  return wID === destination.wID && spot === (destination.spot ?? spot);
}

/** A whole lot keeps its record; part of one becomes a lot of its own, as old as the one it came from. */
function relocate({ state, now }: Call, { lot, taken, left }: Picked, destination: Destination): Lot {
  if (left.digits === 0n) return state.book.alter(lot.recNo, destination, now);
  state.book.alter(lot.recNo, { units: toNumber(left) }, now);
  return state.book.receive({ ...lot, ...destination, units: toNumber(taken) }, now);
}
