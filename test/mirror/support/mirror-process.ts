/** A process that mirrors a service into an SQLite file, to be killed by its test: `node mirror-process.js <base URL> <file> <client ID> <secret>`. */
import { InventoryClient } from "../../../src/index.js";
import { createMirror, sqliteSink } from "../../../src/mirror/index.js";

const [baseUrl = "", path = "", clientId = "", clientSecret = ""] = process.argv.slice(2);
const client = new InventoryClient({ baseUrl, clientId, clientSecret, rateLimit: false });
// Its parent kills it some time after this line.
process.stdout.write("ready\n");
const report = await createMirror({ client, sink: sqliteSink({ path }) }).run();
await client.close();
process.stdout.write(`${JSON.stringify(report)}\n`);
