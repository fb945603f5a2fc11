import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { Cost, Task } from "./contender.js";

/** How much to measure: rounds of bursts of calls, and warm-up calls. */
export interface MeasurementSize {
  rounds: number;
  calls: number;
  /** Warm-up calls. V8 needs some thousand calls until all code is compiled. */
  warmUp: number;
}

/**
 * Measures bursts of sequential calls. The clients take turns, so that other load on the machine affects all of them. Each
 * runs in a separate process: in one process they would change how V8 compiles shared code, and collect each other's
 * garbage. The order changes from round to round.
 */
export async function measureInterleaved(
  names: readonly string[],
  baseUrl: string,
  task: Task,
  { rounds, calls, warmUp }: MeasurementSize,
): Promise<Map<string, Cost[]>> {
  const children = await Promise.all(names.map((name) => startProcess(name, baseUrl, task)));
  const costs = new Map<string, Cost[]>(names.map((name) => [name, []]));
  for (const child of children) await burst(child, warmUp);
  for (let round = 0; round < rounds; round += 1) {
    for (let place = 0; place < names.length; place += 1) {
      const index = (place + round) % names.length;
      const [name, child] = [names[index], children[index]];
      if (name && child) costs.get(name)?.push(await burst(child, calls));
    }
  }
  for (const child of children) child.disconnect();
  return costs;
}

async function startProcess(name: string, baseUrl: string, task: Task): Promise<ChildProcess> {
  const child = fork(fileURLToPath(new URL("./contender.ts", import.meta.url)), [name, baseUrl, task]);
  await once(child, "message");
  return child;
}

async function burst(child: ChildProcess, calls: number): Promise<Cost> {
  const reply = once(child, "message");
  child.send(calls);
  const [cost] = (await reply) as [Cost];
  return cost;
}
