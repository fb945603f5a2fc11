import { InventoryClient } from "../../../src/index.js";
import { type ReceiptReport, receive } from "./receipts.js";

// Sends a receipt for each argument, and prints what the client reports. It is a separate program because environment
// variables set the trusted authorities and the proxy.

const remarks = process.argv.slice(2);
const client = new InventoryClient({
  retry: { maxRetries: 2, minDelayMs: 1, maxDelayMs: 2 },
});
const reports: ReceiptReport[] = await Promise.all(remarks.map((remark) => receive(client, remark)));
console.log(JSON.stringify(reports));
