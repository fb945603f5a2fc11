import * as z from "zod";
import { EMPTY_LOT } from "../data/empty-records.js";
import { JOBS, OWNERS } from "../data/sample-names.js";
import type { EndpointContext } from "../http/endpoint.js";
import { datetimeField, integerField, positiveField, readFields, requiredStringField } from "../http/fields.js";
import type { SandboxResponse } from "../http/response.js";
import { isoTime } from "../time.js";
import { findItem } from "./picking.js";
import { assertReasonCode, transactionResponse } from "./transaction.js";
import { assertInScope } from "./warehouse-scope.js";

const receiptSchema = z.object({
  itemID: requiredStringField(),
  units: positiveField(),
  wid: integerField(),
  reasonCode: integerField(),
  spot: z.string().optional(),
  serial: z.string().optional(),
  serial2: z.string().optional(),
  rfidTag: z.string().optional(),
  reference: z.string().optional(),
  remark: z.string().optional(),
  netWeight: z.number().optional(),
  grossWeight: z.number().optional(),
  price: z.number().optional(),
  expires: datetimeField().optional(),
  supplier: integerField().optional(),
  line: integerField().optional(),
  jobid: integerField().optional(),
});

/** POST /Inventory/Receive: creates a lot. */
export function receiveStock(context: EndpointContext): SandboxResponse {
  const { state, settings, now, client } = context;
  const receipt = readFields(receiptSchema, context.json());
  assertReasonCode(receipt.reasonCode, settings);
  assertInScope(context, receipt.wid);
  const { partNo, shortID, description } = findItem(context, receipt.itemID);
  const owner = state.catalog.findByPartNo(partNo)?.item.dfltOwner;
  const job = JOBS.find(({ id }) => id === receipt.jobid);

  const { recNo } = state.stock.addLot(
    {
      ...EMPTY_LOT,
      partNo,
      shortID,
      description,
      associate: OWNERS.find(({ id }) => id === owner)?.name ?? "",
      warehouse: state.warehouses.get(receipt.wid) ?? "",
      wID: receipt.wid,
      spot: receipt.spot ?? "",
      units: receipt.units,
      received: isoTime(now),
      serial: receipt.serial ?? "",
      serial2: receipt.serial2 ?? null,
      rFIDTag: receipt.rfidTag ?? null,
      remark: receipt.remark ?? "",
      jobID: receipt.jobid ?? 0,
      jobName: job?.name ?? null,
    },
    now,
  );
  context.emitTransaction({
    kind: "receive",
    at: now,
    clientId: client.clientId,
    shortID,
    units: receipt.units,
    wid: receipt.wid,
    recNo,
  });
  return transactionResponse(settings.receiveStatus, settings.receiveForm, recNo, "received");
}
