import * as z from "zod";
import { DEFAULT_LOT_FIELDS } from "../data/default-fields.js";
import { SAMPLE_JOBS, SAMPLE_OWNERS } from "../data/sample-names.js";
import type { EndpointContext } from "../http/endpoint.js";
import { bodyDatetime, integerNumber, parseBodyFields, positiveNumber, requiredString } from "../http/fields.js";
import type { SandboxResponse } from "../http/response.js";
import { formatIsoTime } from "../time.js";
import { findTransactionItem } from "./picking.js";
import { assertAllowedReasonCode, transactionResponse } from "./transaction.js";
import { assertWarehouseInScope } from "./warehouse-scope.js";

const receiveRequestSchema = z.object({
  itemID: requiredString(),
  units: positiveNumber(),
  wid: integerNumber(),
  reasonCode: integerNumber(),
  spot: z.string().optional(),
  serial: z.string().optional(),
  serial2: z.string().optional(),
  rfidTag: z.string().optional(),
  reference: z.string().optional(),
  remark: z.string().optional(),
  netWeight: z.number().optional(),
  grossWeight: z.number().optional(),
  price: z.number().optional(),
  expires: bodyDatetime().optional(),
  supplier: integerNumber().optional(),
  line: integerNumber().optional(),
  jobid: integerNumber().optional(),
});

/** POST /Inventory/Receive: creates a lot. */
export function handleReceive(context: EndpointContext): SandboxResponse {
  const { state, settings, now, client } = context;
  const receipt = parseBodyFields(receiveRequestSchema, context.json());
  assertAllowedReasonCode(receipt.reasonCode, settings);
  assertWarehouseInScope(context, receipt.wid);
  const { partNo, shortID, description } = findTransactionItem(context, receipt.itemID);
  const owner = state.catalog.findByPartNo(partNo)?.item.dfltOwner;
  const job = SAMPLE_JOBS.find(({ id }) => id === receipt.jobid);

  const { recNo } = state.stock.addLot(
    {
      ...DEFAULT_LOT_FIELDS,
      partNo,
      shortID,
      description,
      associate: SAMPLE_OWNERS.find(({ id }) => id === owner)?.name ?? "",
      warehouse: state.warehouses.get(receipt.wid) ?? "",
      wID: receipt.wid,
      spot: receipt.spot ?? "",
      units: receipt.units,
      received: formatIsoTime(now),
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
