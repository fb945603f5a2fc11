import { it } from "vitest";
import { Simulation, simulate } from "./support/simulation.js";
import { inVirtualTime, useVirtualTime } from "./support/virtual-time.js";

const options = JSON.parse(process.env.SIM ?? "{}");
const tally: Record<string, number> = {};
const count = (name: string, by = 1) => (tally[name] = (tally[name] ?? 0) + by);
it.each(Array.from({ length: Number(process.env.N ?? 40) }, (_, i) => i))("s %d", async (seed) => {
  useVirtualTime();
  const simulation = new Simulation(seed, options);
  const entries = await inVirtualTime(simulate(simulation));
  for (const { operation, state } of entries) count(`${operation} ${state}`);
  count("kills", simulation.kills);
  count("schedules");
  for (const { error, state } of entries)
    if (state === "unknown" || state === "rejected")
      count(
        `${state}: ${String(Object(error).message)
          .replace(/[0-9, ]+/g, " # ")
          .slice(0, 150)}`,
      );
  for (const line of simulation.log)
    if (line.includes("run failed"))
      count(
        line
          .replace(/^\d+ /, "")
          .replace(/[[{].*: /, "")
          .slice(0, 60),
      );
  if (seed === Number(process.env.SHOW)) console.log(simulation.log.join("\n"), entries);
});
it("tally", () => console.log(tally));
