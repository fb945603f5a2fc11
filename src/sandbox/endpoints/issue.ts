import * as z from "zod";
import type { EndpointContext } from "../http/endpoint.js";
import { integerNumber, optionalFilter, parseBodyFields, positiveNumber, requiredString } from "../http/fields.js";
import type { SandboxResponse } from "../http/response.js";
import { formatIsoTime } from "../time.js";
import { findTransactionItem, pickLots } from "./picking.js";
import { assertAllowedReasonCode, transactionResponse } from "./transaction.js";
import { assertWarehouseInScope } from "./warehouse-scope.js";

const issueRequestSchema = z.object({
  itemID: requiredString(),
  units: positiveNumber(),
  wid: integerNumber(),
  reasonCode: integerNumber(),
  spot: optionalFilter(),
  serial: optionalFilter(),
  serial2: optionalFilter(),
  rfidTag: optionalFilter(),
  reference: z.string().optional(),
  remark: z.string().optional(),
  netWeight: z.number().optional(),
  shipto: integerNumber().optional(),
  prodID: z.string().optional(),
  recno: integerNumber().optional(),
  line: integerNumber().optional(),
});

/** POST /Inventory/Issue: takes stock out of the lots that fit; a lot that is used up is shipped. */
export function handleIssue(context: EndpointContext): SandboxResponse {
  const { state, settings, now, client } = context;
  const issue = parseBodyFields(issueRequestSchema, context.json());
  assertAllowedReasonCode(issue.reasonCode, settings);
  assertWarehouseInScope(context, issue.wid);
  const { partNo, shortID } = findTransactionItem(context, issue.itemID);
  const picks = pickLots(context, { ...issue, partNo });

  for (const { lot, left } of picks) {
    const usedUp = left.eq(0);
    state.stock.changeLot(lot, { units: left.toNumber(), ...(usedUp && { shipped: formatIsoTime(now) }) }, now);
  }
  const { recNo } = picks[0].lot;
  const { units, wid } = issue;
  context.emitTransaction({ kind: "issue", at: now, clientId: client.clientId, shortID, units, wid, recNo });
  return transactionResponse(200, settings.issueForm, recNo, "issued");
}
