/**
 * Where the time of one call goes: a table by package, and for stocklot by source file.
 *
 * npx tsx bench/profile.ts [item|page]
 */
import { readFileSync } from "node:fs";
import { type Profiler, type Runtime, Session } from "node:inspector/promises";
import { openHttpClient } from "./http-clients.js";
import { BUILT_PACKAGE } from "./paths.js";
import { prepare } from "./prepare.js";
import { Services } from "./services.js";

const CALLS = { item: 30_000, page: 3_000 };
const INTERVAL_MICROS = 200;
const ROWS = 24;

const task = process.argv[2] === "page" ? "page" : "item";
await prepare();
const services = new Services();
const { baseUrl } = await services.open({ lots: 250_000 });
const built = readFileSync(new URL("index.js", BUILT_PACKAGE), "utf8").split("\n");
const client = await openHttpClient("stocklot", baseUrl);
const call = async (count: number) => {
  for (let done = 0; done < count; done += 1) {
    await (task === "item" ? client.getItem("BOLT-M8X40-A2") : client.getPage((done % 400) + 1));
  }
};

await call(CALLS[task] / 10);
const session = new Session();
session.connect();
await session.post("Profiler.enable");
await session.post("Profiler.setSamplingInterval", { interval: INTERVAL_MICROS });
await session.post("Profiler.start");
await call(CALLS[task]);
const { profile } = await session.post("Profiler.stop");
print(profile);
services.close();
process.exit();

function print({ nodes, samples = [], timeDeltas = [] }: Profiler.Profile): void {
  const places = new Map(nodes.map(({ id, callFrame }) => [id, placeOf(callFrame)]));
  const times = new Map<string, number>();
  samples.forEach((id, index) => {
    const place = places.get(id) ?? "?";
    times.set(place, (times.get(place) ?? 0) + (timeDeltas[index] ?? 0));
  });
  const busy = [...times].filter(([place]) => place !== "waiting");
  const total = busy.reduce((sum, [, micros]) => sum + micros, 0);
  console.log(`${(total / CALLS[task]).toFixed(1)} µs of the main thread a call, of which`);
  for (const [place, micros] of busy.sort(([, one], [, other]) => other - one).slice(0, ROWS)) {
    console.log(`${((100 * micros) / total).toFixed(1).padStart(6)} %  ${place}`);
  }
}

function placeOf({ functionName, url, lineNumber }: Runtime.CallFrame): string {
  if (functionName === "(idle)") return "waiting";
  if (functionName === "(garbage collector)") return "garbage collection";
  if (functionName === "writeLatin1String" || functionName === "writeUtf8String") return "writing to the socket";
  if (url === "") return functionName.startsWith("RegExp") ? "regular expressions" : "V8 and native code";
  if (url.startsWith("node:")) return "Node's own JavaScript (sockets, timers, promises)";
  if (url.startsWith(BUILT_PACKAGE.href)) return `stocklot: ${sourceOf(lineNumber)}`;
  const [, name] = /.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url) ?? [];
  return name ?? (url.startsWith("wasm") ? "undici" : "the benchmark");
}

/** The built file says in comments which source each part is from. */
function sourceOf(line: number): string {
  for (let above = line; above >= 0; above -= 1) {
    const [, source] = /^\/\/ (src\/\S+)/.exec(built[above] ?? "") ?? [];
    if (source) return source;
  }
  return "?";
}
