import { isoTime } from "../clock.js";
import { EMPTY_LOT } from "../data/own-lots.js";
import { JOBS, OWNERS } from "../data/vocabulary.js";
import type { Call } from "../http/call.js";
import { type Model, readModel } from "../http/model.js";
import type { Reply } from "../http/reply.js";
import { itemNamed } from "./picking.js";
import { demandReason } from "./reason-code.js";
import { demandInScope } from "./scope.js";
import { transactionReply } from "./transaction-form.js";

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
export function receiveStock(call: Call): Reply {
  const { state, settings, now, client } = call;
  const receipt = readModel(call.json(), RECEIPT);
  demandReason(receipt.reasonCode, settings);
  demandInScope(call, receipt.wid);
  const { partNo, shortID, description } = itemNamed(call, receipt.itemID);
  const owner = state.catalogue.byNumber(partNo)?.item.dfltOwner;
  const job = JOBS.find(({ id }) => id === receipt.jobid);

  const { recNo } = state.book.receive(
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
  call.announce({
    kind: "receive",
    at: now,
    clientId: client.clientId,
    shortID,
    units: receipt.units,
    wid: receipt.wid,
    recNo,
  });
  return transactionReply(settings.receiveStatus, settings.receiveForm, recNo, "received");
}
