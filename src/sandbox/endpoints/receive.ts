import { JOBS, OWNERS } from "../data/sample-names.js";
import { EMPTY_LOT } from "../data/user-data.js";
import { isoTime } from "../dates.js";
import type { EndpointContext } from "../http/endpoint.js";
import { type Model, readModel } from "../http/model.js";
import type { SandboxResponse } from "../http/response.js";
import { findItem } from "./picking.js";
import { assertReasonCode, transactionResponse } from "./transaction.js";
import { assertInScope } from "./warehouse-scope.js";

const RECEIPT = {
  itemID: { kind: "text", required: true },
  units: { kind: "decimal", required: true, positive: true },
  wid: { kind: "integer", required: true },
  reasonCode: { kind: "integer", required: true },
  spot: { kind: "text" },
  serial: { kind: "text" },
  serial2: { kind: "text" },
  rfidTag: { kind: "text" },
  reference: { kind: "text" },
  remark: { kind: "text" },
  netWeight: { kind: "decimal" },
  grossWeight: { kind: "decimal" },
  price: { kind: "decimal" },
  expires: { kind: "datetime" },
  supplier: { kind: "integer" },
  line: { kind: "integer" },
  jobid: { kind: "integer" },
} as const satisfies Model;

/** POST /Inventory/Receive: a new lot, and so much more stock. */
export function receiveStock(context: EndpointContext): SandboxResponse {
  const { state, settings, now, client } = context;
  const receipt = readModel(context.json(), RECEIPT);
  assertReasonCode(receipt.reasonCode, settings);
  assertInScope(context, receipt.wid);
  const { partNo, shortID, description } = findItem(context, receipt.itemID);
  const owner = state.catalog.byNumber(partNo)?.item.dfltOwner;
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
      shipped: null,
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
