/**
 * An HTTP endpoint that reads a copy: GET /lots?sku=BOLT-M8. It sends no request to the service. A mirror keeps the copy up to
 * date, here or in another process, such as npx stocklot mirror --sqlite stock.db --watch 5m.
 *
 * npx tsx examples/copy-endpoint.ts [file.db] [port]
 */
import { createServer } from "node:http";
import { InputValidationError } from "stocklot";
import { openCopy, sqliteSink } from "stocklot/mirror";
import { sampleCopy } from "./sample-copy.js";

const [path = await sampleCopy(), port = "0"] = process.argv.slice(2);
const copy = await openCopy(sqliteSink({ path }));

const server = createServer(async (request, response) => {
  const { pathname, searchParams } = new URL(request.url ?? "/", "http://localhost");
  const reply = (status: number, body: object) => {
    response.writeHead(status, { "content-type": "application/json" }).end(`${JSON.stringify(body)}\n`);
  };
  if (pathname !== "/lots") return reply(404, { error: "Try /lots?sku=BOLT-M8" });
  try {
    const bins: object[] = [];
    for await (const { wID, spot, units } of copy.lots({ shortID: searchParams.get("sku") ?? "" })) {
      bins.push({ wID, spot, units });
    }
    const lots = (await copy.status()).find(({ list }) => list === "lots");
    reply(200, { bins, asOf: lots?.asOf ? new Date(lots.asOf) : null });
  } catch (error) {
    if (error instanceof InputValidationError) return reply(400, { error: error.message });
    console.error(error);
    reply(503, { error: "The copy cannot be read at the moment. Try again." });
  }
});

server.listen(Number(port), "127.0.0.1", () => {
  const address = server.address();
  console.log(`http://127.0.0.1:${typeof address === "object" ? address?.port : port}/lots?sku=BOLT-M8`);
});
process.once("SIGINT", () => server.close(() => copy.close()));
