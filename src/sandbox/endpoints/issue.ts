import { isoTime } from "../dates.js";
import { toNumber } from "../decimal.js";
import type { EndpointContext } from "../http/endpoint.js";
import { type Model, readModel } from "../http/model.js";
import type { SandboxResponse } from "../http/response.js";
import { findItem, pickLots } from "./picking.js";
import { assertReasonCode, transactionResponse } from "./transaction.js";
import { assertInScope } from "./warehouse-scope.js";

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
export function issueStock(context: EndpointContext): SandboxResponse {
  const { state, settings, now, client } = context;
  const issue = readModel(context.json(), ISSUE);
  assertReasonCode(issue.reasonCode, settings);
  assertInScope(context, issue.wid);
  const { partNo, shortID } = findItem(context, issue.itemID);
  const picks = pickLots(context, { ...issue, partNo });

  for (const { lot, left } of picks) {
    const usedUp = left.digits === 0n;
    state.stock.changeLot(lot.recNo, { units: toNumber(left), ...(usedUp && { shipped: isoTime(now) }) }, now);
  }
  const { recNo } = picks[0].lot;
  const { units, wid } = issue;
  context.emitTransaction({ kind: "issue", at: now, clientId: client.clientId, shortID, units, wid, recNo });
  return transactionResponse(200, settings.issueForm, recNo, "issued");
}
