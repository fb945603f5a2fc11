import { describe, expect, it } from "vitest";
import type { OutboxEntry } from "../../src/outbox/index.js";
import { RUN_ALL } from "../support/runs.js";
import { Simulation, type SimulationOptions, simulate } from "./support/simulation.js";
import { inVirtualTime, useVirtualTime } from "./support/virtual-time.js";

const seeds = Array.from({ length: RUN_ALL ? 15 : 2 }, (_, seed) => seed);

/** What is wrong, by the service's own list of what it applied. */
function problems(simulation: Simulation, entries: readonly OutboxEntry[], { mark }: SimulationOptions): string[] {
  const found: string[] = [];
  for (const { key, operation, state } of entries) {
    const effects = simulation.effectsOf(key);
    if (operation !== "update" && effects > 1) found.push(`${key}: applied ${effects} times`);
    if (state === "applied" && effects === 0) found.push(`${key}: applied, but the service did not apply it`);
    if ((state === "rejected" || state === "pending") && effects > 0)
      found.push(`${key}: ${state}, but it was applied`);
    if (state === "sending") found.push(`${key}: still sending`);
    if (state === "unknown" && operation === "update") found.push(`${key}: unknown, though it can be repeated`);
    if (state === "unknown" && operation === "receive" && mark) found.push(`${key}: unknown, though it has a mark`);
  }
  if (entries.length !== simulation.entries.length) found.push("entries are missing");
  const sequence = new Map(entries.map(({ key }, index) => [key, index]));
  const last = new Map<string, number>();
  for (const { key, item } of simulation.effects) {
    const position = sequence.get(key) ?? -1;
    if (position < (last.get(item) ?? -1)) found.push(`${key}: applied after a later entry of ${item}`);
    last.set(item, position);
  }
  return found;
}

const CASES: [string, SimulationOptions][] = [
  ["without marks", {}],
  ["with marks in remarks", { mark: "remark" }],
  ["with marks as serials", { mark: "serial" }],
  ["while others receive the same items", { hasOthers: true }],
  ["while the clock is set", { clockJumps: true, mark: "remark" }],
  ["with an unreliable store", { storeFaults: 10 }],
  ["without failures but kills", { requestFaults: 0, storeFaults: 0, mark: "remark" }],
];

describe.each(CASES)("whatever fails, %s", (_, options) => {
  it.each(seeds)("no write is lost or doubled: schedule %d", async (seed) => {
    useVirtualTime();
    const simulation = new Simulation(seed, options);
    const entries = await inVirtualTime(simulate(simulation));
    const found = problems(simulation, entries, options);
    expect(found, [...simulation.log, ...entries.map((entry) => JSON.stringify(entry))].join("\n")).toEqual([]);
  });
});
