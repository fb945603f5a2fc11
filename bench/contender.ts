/** Process of one of the compared clients. It makes a burst of sequential calls for each message. */
import { openHttpClient } from "./http-clients.js";

export type Task = "item" | "page";

/** The time of one call in µs: wall time, and CPU time of all threads of this process. */
export interface Cost {
  wall: number;
  cpu: number;
}

/** The number of calls before each measurement, because the process was idle during the turns of other clients. */
const WAKE_UP_CALLS = 10;
const PAGES = 400;

const [name = "", baseUrl = "", task = "item"] = process.argv.slice(2);
const client = await openHttpClient(name, baseUrl);

let pages = 0;
const call = {
  item: () => client.getItem("BOLT-M8X40-A2"),
  page: () => client.getPage((pages++ % PAGES) + 1),
}[task as Task];

process.on("message", async (calls: number) => {
  for (let count = 0; count < WAKE_UP_CALLS; count += 1) await call();
  process.send?.(await burst(calls));
});
process.once("disconnect", () => process.exit());
process.send?.("ready");

async function burst(calls: number): Promise<Cost> {
  const cpuBefore = process.cpuUsage();
  const startedAt = performance.now();
  for (let count = 0; count < calls; count += 1) await call();
  const wallMs = performance.now() - startedAt;
  const { user, system } = process.cpuUsage(cpuBefore);
  return { wall: (wallMs * 1_000) / calls, cpu: (user + system) / calls };
}
