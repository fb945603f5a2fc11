import * as z from "zod";
import type { EndpointContext } from "../http/endpoint.js";
import { filterField, integerField, positiveField, readFields, requiredStringField } from "../http/fields.js";
import type { SandboxResponse } from "../http/response.js";
import { isoTime } from "../time.js";
import { findItem, pickLots } from "./picking.js";
import { assertReasonCode, transactionResponse } from "./transaction.js";
import { assertInScope } from "./warehouse-scope.js";

const issueSchema = z.object({
  itemID: requiredStringField(),
  units: positiveField(),
  wid: integerField(),
  reasonCode: integerField(),
  spot: filterField(),
  serial: filterField(),
  serial2: filterField(),
  rfidTag: filterField(),
  reference: z.string().optional(),
  remark: z.string().optional(),
  netWeight: z.number().optional(),
  shipto: integerField().optional(),
  prodID: z.string().optional(),
  recno: integerField().optional(),
  line: integerField().optional(),
});

/** POST /Inventory/Issue: takes stock out of the lots that fit; a lot that is used up is shipped. */
export function issueStock(context: EndpointContext): SandboxResponse {
  const { state, settings, now, client } = context;
  const issue = readFields(issueSchema, context.json());
  assertReasonCode(issue.reasonCode, settings);
  assertInScope(context, issue.wid);
  const { partNo, shortID } = findItem(context, issue.itemID);
  const picks = pickLots(context, { ...issue, partNo });

  for (const { lot, left } of picks) {
    const usedUp = left.eq(0);
    state.stock.changeLot(lot.recNo, { units: left.toNumber(), ...(usedUp && { shipped: isoTime(now) }) }, now);
  }
  const { recNo } = picks[0].lot;
  const { units, wid } = issue;
  context.emitTransaction({ kind: "issue", at: now, clientId: client.clientId, shortID, units, wid, recNo });
  return transactionResponse(200, settings.issueForm, recNo, "issued");
}
