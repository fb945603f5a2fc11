import { isoTime } from "../clock.js";
import { toNumber } from "../decimal.js";
import type { Call } from "../http/call.js";
import { type Model, readModel } from "../http/model.js";
import type { Reply } from "../http/reply.js";
import { itemNamed, pickLots } from "./picking.js";
import { demandReason } from "./reason-code.js";
import { demandInScope } from "./scope.js";
import { transactionReply } from "./transaction-form.js";

const ISSUE = {
  itemID: { kind: "text", required: true },
  units: { kind: "decimal", required: true, positive: true },
  wid: { kind: "integer", required: true },
  reasonCode: { kind: "integer", required: true },
  spot: { kind: "text", blankIsNone: true },
  serial: { kind: "text", blankIsNone: true },
  serial2: { kind: "text", blankIsNone: true },
  rfidTag: { kind: "text", blankIsNone: true },
  reference: { kind: "text" },
  remark: { kind: "text" },
  netWeight: { kind: "decimal" },
  shipto: { kind: "integer" },
  prodID: { kind: "text" },
  recno: { kind: "integer" },
  line: { kind: "integer" },
} as const satisfies Model;

/** POST /Inventory/Issue: takes stock out of the lots that fit; a lot that is used up is shipped. */
export function issueStock(call: Call): Reply {
  const { state, settings, now, client } = call;
  const issue = readModel(call.json(), ISSUE);
  demandReason(issue.reasonCode, settings);
  demandInScope(call, issue.wid);
  const { partNo, shortID } = itemNamed(call, issue.itemID);
  const picks = pickLots(call, { ...issue, partNo });

  for (const { lot, left } of picks) {
    const usedUp = left.digits === 0n;
    state.book.alter(lot.recNo, { units: toNumber(left), ...(usedUp && { shipped: isoTime(now) }) }, now);
  }
  const { recNo } = picks[0].lot;
  const { units, wid } = issue;
  call.announce({ kind: "issue", at: now, clientId: client.clientId, shortID, units, wid, recNo });
  return transactionReply(200, settings.issueForm, recNo, "issued");
}
