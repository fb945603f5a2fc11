/** Process of one of the compared clients. It profiles sequential calls, and sends the time that each place takes. */
import { readFileSync } from "node:fs";
import { type Profiler, type Runtime, Session } from "node:inspector/promises";
import type { Task } from "./contender.js";
import { openHttpClient } from "./http-clients.js";
import { BUILT_PACKAGE } from "./paths.js";

/** The time of the main thread that one call takes, in µs, by place in the code. */
export type TimeByPlace = Record<string, number>;

const INTERVAL_MICROS = 200;
const PAGES = 400;
const PARSING = "JSON.parse";
const builtFiles = new Map<string, readonly string[]>();

const [name = "", baseUrl = "", task = "item", calls = "1000"] = process.argv.slice(2);
const client = await openHttpClient(name, baseUrl);
const run = {
  item: () => client.getItem("BOLT-M8X40-A2"),
  page: (count: number) => client.getPage((count % PAGES) + 1),
}[task as Task];
const call = async (count: number) => {
  for (let done = 0; done < count; done += 1) await run(done);
};

await call(Number(calls) / 5);
const session = new Session();
session.connect();
await session.post("Profiler.enable");
await session.post("Profiler.setSamplingInterval", { interval: INTERVAL_MICROS });
await session.post("Profiler.start");
await call(Number(calls));
const { profile } = await session.post("Profiler.stop");
process.send?.(timeByPlaceOf(profile), () => process.exit());

function timeByPlaceOf({ nodes, samples = [], timeDeltas = [] }: Profiler.Profile): TimeByPlace {
  const places = new Map(nodes.map(({ id, callFrame }) => [id, placeOf(callFrame)]));
  const micros: TimeByPlace = {};
  samples.forEach((id, index) => {
    const place = places.get(id);
    if (place !== undefined) micros[place] = (micros[place] ?? 0) + (timeDeltas[index] ?? 0) / Number(calls);
  });
  return micros;
}

/** Returns the place of a function, or `undefined` while the process is idle. */
function placeOf({ functionName, url, lineNumber }: Runtime.CallFrame): string | undefined {
  if (functionName === "(idle)") return undefined;
  if (functionName === "(garbage collector)") return "garbage collection";
  if (functionName === "writeLatin1String" || functionName === "writeUtf8String") return "writing to the socket";
  // V8 counts the time of JSON.parse as time of the function that calls it.
  if (functionName === "parseJsonOrUndefined") return PARSING;
  if (url === "") return "V8 and native code";
  if (url.startsWith("node:")) return "Node's own JavaScript (sockets, timers, promises)";
  if (url.startsWith(BUILT_PACKAGE.href)) return sourceOf(lineNumber, linesOf(url));
  // The code of a peer outside its client only parses the response.
  if (url.includes("/bench/peers/")) return PARSING;
  const [, name] = /.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url) ?? [];
  return name ?? (url.startsWith("wasm") ? "undici" : "the benchmark");
}

/** Returns the lines of a built file: an entry point, or a chunk that entry points share. */
function linesOf(url: string): readonly string[] {
  const lines = builtFiles.get(url) ?? readFileSync(new URL(url), "utf8").split("\n");
  builtFiles.set(url, lines);
  return lines;
}

/** Returns the source file of a line. Comments in the built file name the source of each part. */
function sourceOf(line: number, built: readonly string[]): string {
  for (let above = line; above >= 0; above -= 1) {
    const [, source] = /^\/\/ src\/(\S+)/.exec(built[above] ?? "") ?? [];
    if (source) return `stocklot: ${source}`;
  }
  return "stocklot";
}
