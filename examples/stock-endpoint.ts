/**
 * An HTTP endpoint that returns the stock of one SKU: GET /stock?sku=BOLT-M8, or with &wid=3 that of one warehouse.
 *
 * npx tsx examples/stock-endpoint.ts [port]
 */
import { createServer } from "node:http";
import {
  InputValidationError,
  InventoryClient,
  NotFoundError,
  RateLimitError,
  StocklotError,
  TimeoutError,
} from "stocklot";
import { connect } from "./connect.js";

const { service } = connect();
// All requests share one client, because it remembers where in the lists it has found an item.
const client = new InventoryClient(service);

const server = createServer(async (request, response) => {
  const { pathname, searchParams } = new URL(request.url ?? "/", "http://localhost");
  const reply = (status: number, body: object, headers: Record<string, string> = {}) => {
    response.writeHead(status, { "content-type": "application/json", ...headers }).end(`${JSON.stringify(body)}\n`);
  };
  if (pathname !== "/stock") return reply(404, { error: "Try /stock?sku=BOLT-M8" });
  const sku = searchParams.get("sku") ?? "";
  const scope = searchParams.has("wid") ? { wid: Number(searchParams.get("wid")) } : {};
  // Both searches end if the caller goes away or if one of them fails.
  const over = new AbortController();
  response.once("close", () => over.abort());
  // Both searches begin at the same time, so this limits the time of the whole response.
  const options = { signal: over.signal, totalTimeoutMs: 10_000 };
  try {
    const [level, lots] = await Promise.all([
      client.inventory.getStockLevel(sku, scope, options),
      client.inventory.getLots(sku, scope, options),
    ]);
    const inStock = lots.filter(({ shipped, active }) => shipped === null && active);
    const bins = inStock.map(({ wID, spot, units }) => ({ wID, spot, units }));
    reply(200, { sku, available: level?.available ?? 0, bins });
  } catch (error) {
    if (over.signal.aborted) return;
    over.abort();
    if (error instanceof InputValidationError) return reply(400, { error: error.message });
    if (error instanceof NotFoundError) return reply(404, { error: error.serviceMessage });
    console.error(error instanceof StocklotError ? error.message : error);
    const waitsForLimit = error instanceof TimeoutError || error instanceof RateLimitError;
    const retryAfterMs = (waitsForLimit ? error.retryAfterMs : undefined) ?? 5_000;
    const headers = { "retry-after": String(Math.ceil(retryAfterMs / 1_000)) };
    reply(503, { error: "The stock is not known at the moment. Try again." }, headers);
  }
});

const [port = "3000"] = process.argv.slice(2);
server.listen(Number(port), "127.0.0.1", () => {
  const address = server.address();
  console.log(`http://127.0.0.1:${typeof address === "object" ? address?.port : port}/stock?sku=BOLT-M8`);
});
process.once("SIGINT", () => server.close(() => client.close()));
