/*
 * Prints as JSON which files are executed by a receipt, by the creation of a list, and by the reading of a list. The program is
 * bundled into one file, in which a comment with the path precedes the code of each source file.
 */
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { Session } from "node:inspector/promises";
import { fileURLToPath } from "node:url";
import { parentPort, Worker } from "node:worker_threads";
import { type ClientOptions, InventoryClient } from "../../src/index.js";
import { createSandbox } from "../../src/sandbox/index.js";

// The sandbox runs in a second thread, because it executes files of src/service too.
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
// The first calls also load modules, build schemas and request a token. They are not measured.
await receive();
await list().toArray();

const program = fileURLToPath(import.meta.url);
const parts = [...readFileSync(program, "utf8").matchAll(/^\/\/ (\S+\.[jt]s)$/gm)];
const fileAt = (offset: number) => parts.findLast(({ index }) => index <= offset)?.[1] ?? "";

/** Returns the files of `src/client`, `src/service` and `src/shared` that are executed during `run`. */
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
