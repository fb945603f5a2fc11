/*
 * Prints as JSON which files a receipt executes, from the call to the socket and back, and a list before its first request. It is
 * built into one file, in which a comment with its path stands before each source file.
 */
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { Session } from "node:inspector/promises";
import { fileURLToPath } from "node:url";
import { parentPort, Worker } from "node:worker_threads";
import { type ClientOptions, InventoryClient } from "../../src/index.js";
import { createSandbox } from "../../src/sandbox/index.js";

// The sandbox uses files of src/service, too: it runs in a thread of its own.
if (parentPort) {
  const sandbox = createSandbox({ items: [{ shortID: "BOLT" }], rateLimit: false });
  const { url } = await sandbox.listen();
  parentPort.postMessage({ baseUrl: url, ...sandbox.credentials });
  await once(parentPort, "message");
}
const service = new Worker(fileURLToPath(import.meta.url));
const [options]: ClientOptions[] = await once(service, "message");
const client = new InventoryClient(options);
const receive = () => client.inventory.receive({ itemID: "BOLT", units: 5, wid: 3, reasonCode: 1 });
const list = () => client.inventory.listLots({}, { gapless: true });

const session = new Session();
session.connect();
await session.post("Profiler.enable");
// What is loaded, built or requested once is no part of the way.
await receive();
await list().toArray();

const program = fileURLToPath(import.meta.url);
const parts = [...readFileSync(program, "utf8").matchAll(/^\/\/ (\S+\.[jt]s)$/gm)];
const fileAt = (offset: number) => parts.findLast(({ index }) => index <= offset)?.[1] ?? "";

/** The files of the client that run while `run` does. */
async function filesOf(run: () => unknown): Promise<string[]> {
  await session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });
  await run();
  const { result } = await session.post("Profiler.takePreciseCoverage");
  await session.post("Profiler.stopPreciseCoverage");
  const functions = result.flatMap((script) => (script.url === import.meta.url ? script.functions : []));
  const executed = functions.flatMap(({ ranges: [range] }) =>
    range && range.count > 0 ? [fileAt(range.startOffset)] : [],
  );
  const isOfClient = (file: string) => /^src\/(client|service|shared)\//.test(file);
  return [...new Set(executed)].filter(isOfClient).sort();
}

console.log(
  JSON.stringify({
    receive: await filesOf(receive),
    list: await filesOf(list),
    page: await filesOf(() => list().toArray()),
  }),
);
await client.close();
await service.terminate();
