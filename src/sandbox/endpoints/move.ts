import type { Lot } from "../../schemas/lot.js";
import { toNumber } from "../decimal.js";
import type { Call } from "../http/call.js";
import { type Model, readModel } from "../http/model.js";
import type { Reply } from "../http/reply.js";
import { itemNamed, type Pick, pickLots } from "./picking.js";
import { demandInScope } from "./scope.js";
import { transactionReply } from "./transaction-form.js";

const MOVE = {
  itemID: { kind: "text", required: true },
  units: { kind: "decimal", required: true, positive: true },
  wid: { kind: "integer", required: true },
  fromSpot: { kind: "text" },
  toSpot: { kind: "text" },
  shipToWid: { kind: "integer" },
  transitSlip: { kind: "text" },
  serial: { kind: "text" },
  serial2: { kind: "text" },
  rfidTag: { kind: "text" },
  reference: { kind: "text" },
  recno: { kind: "integer" },
  received: { kind: "text" },
} as const satisfies Model;

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
  const [first, ...others] = picks;
  const { recNo } = relocate(call, first, destination);
  for (const pick of others) relocate(call, pick, destination);

  const { units, wid, shipToWid } = move;
  const other = shipToWid === undefined ? {} : { shipToWid };
  call.announce({ kind: "move", at: now, clientId: client.clientId, shortID, units, wid, ...other, recNo });
  return transactionReply(200, settings.moveForm, recNo, "moved");
}

/** A whole lot keeps its record; part of one becomes a lot of its own, as old as the one it came from. */
function relocate({ state, now }: Call, { lot, taken, left }: Pick, destination: Partial<Lot>): Lot {
  if (left.digits === 0n) return state.book.alter(lot.recNo, destination, now);
  state.book.alter(lot.recNo, { units: toNumber(left) }, now);
  return state.book.receive({ ...lot, ...destination, units: toNumber(taken) }, now);
}
