// A client and a limiter of the ES module, used by the other pieces as CommonJS.
import { createRequire } from "node:module";
import { createRateLimiter, InventoryClient } from "stocklot";
import { createSandbox } from "stocklot/sandbox";

const require = createRequire(import.meta.url);
const { InventoryClient: OtherClient } = require("stocklot");
const { createOutbox, postgresOutboxStore } = require("stocklot/outbox");
const { planItems } = require("stocklot/plan");

const { baseUrl, credentials, fetch } = createSandbox();
const options = { baseUrl, ...credentials, fetch, rateLimiter: createRateLimiter({ requests: 100 }) };
const client = new InventoryClient(options);
const { shortID } = await new OtherClient(options).items.get("BOLT-M8");
const plan = await planItems({ client, desired: [{ shortID, putUp: "Box" }] });
const { applied } = await plan.apply({ client });
// It connects to nothing before its first use.
const store = postgresOutboxStore({ connectionString: "postgres://127.0.0.1:1/none" });
const outbox = createOutbox({ client, store });
console.log([OtherClient === InventoryClient, applied, typeof outbox.run].join());
