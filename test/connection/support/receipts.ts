import type { InventoryClient, RequestOptions } from "../../../src/index.js";
import type { FaultServer } from "../../support/fault-server.js";
import { type ReportedEffect, reportedEffect } from "../../support/reported-effect.js";

/** What the client reports of one receipt. */
export interface ReceiptReport {
  /** A text that is unique for each receipt. The test finds the lot of the receipt by it. */
  remark: string;
  effect: ReportedEffect;
  /** The name and the message of the error. */
  message: string;
}

/** Sends a receipt with this remark, and returns what the client reports. */
export async function receive(
  client: InventoryClient,
  remark: string,
  options: RequestOptions = {},
): Promise<ReceiptReport> {
  try {
    await client.inventory.receive({ itemID: "BOLT", units: 1, wid: 3, reasonCode: 1, remark }, options);
    return { remark, effect: "applied", message: "" };
  } catch (error) {
    return { remark, effect: reportedEffect(error, false), message: String(error) };
  }
}

/** How often the service applied a receipt. */
export const timesApplied = ({ service }: FaultServer, remark: string) =>
  service.lots.filter((lot) => lot.remark === remark).length;

/** How often the service received a receipt. */
const timesReceived = ({ requests }: FaultServer, remark: string) =>
  requests.filter(({ body }) => body.includes(`"remark":"${remark}"`)).length;

/** Returns the reports that contradict what the service received and applied. */
export function wrongReports(reports: readonly ReceiptReport[], server: FaultServer): object[] {
  return reports.flatMap((report) => {
    const applied = timesApplied(server, report.remark);
    const received = timesReceived(server, report.remark);
    return isTrue(report, applied, received) ? [] : [{ ...report, applied, received }];
  });
}

function isTrue({ effect, message }: ReceiptReport, applied: number, received: number): boolean {
  if (effect === "applied") return applied === 1;
  if (effect === "not applied") return applied === 0 && (received === 0 || !message.includes("nothing was sent"));
  return effect === "unknown" && applied <= 1;
}
