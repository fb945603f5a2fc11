/**
 * Mirrors items, lots and stock levels into a PostgreSQL database, every minute until it is interrupted (Ctrl-C). The next
 * start continues an interrupted run.
 *
 *     DATABASE_URL=postgres://… npx tsx examples/mirror-postgres.ts [seconds between two runs]
 */
import { InventoryClient } from "stocklot";
import { createMirror, postgresSink } from "stocklot/mirror";
import { connect } from "./connect.js";
import { printReport } from "./mirror-report.js";

const connectionString = process.env.DATABASE_URL;
if (!connectionString) {
  console.error("DATABASE_URL is required, for example postgres://user:password@localhost/stock");
  process.exit(2);
}
const [seconds = "60"] = process.argv.slice(2);
const { service } = connect({ items: 400, lots: 10_000 });
const client = new InventoryClient(service);
const mirror = createMirror({ client, sink: postgresSink({ connectionString }) });
const stop = new AbortController();
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => stop.abort());

await mirror.watch({
  everyMs: Number(seconds) * 1_000,
  signal: stop.signal,
  onReport: printReport,
  onError: (error) => console.error("failed, retrying:", error instanceof Error ? error.message : error),
});
await client.close();
