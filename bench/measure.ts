import { setImmediate as turn } from "node:timers/promises";
import type { Spread } from "./results.js";

/** Something to be measured against others. */
export interface Contender {
  name: string;
  /** One call. */
  run(): Promise<unknown>;
}

/** Time of one call in µs: by the clock, and of the processor (all threads of this process). */
export interface Cost {
  wall: number;
  cpu: number;
}

/**
 * Measures bursts of sequential calls, the contenders taking turns, so that whatever else the machine does hits them all.
 * The order changes from round to round. No collection is forced in between: after one, V8 runs everything at a third of
 * its speed for some hundred calls.
 */
export async function interleave(
  contenders: readonly Contender[],
  { rounds, calls, warmUp }: { rounds: number; calls: number; warmUp: number },
): Promise<Map<string, Cost[]>> {
  const costs = new Map<string, Cost[]>(contenders.map(({ name }) => [name, []]));
  for (const { run } of contenders) await burst(run, warmUp);
  for (let round = 0; round < rounds; round += 1) {
    for (let place = 0; place < contenders.length; place += 1) {
      const contender = contenders[(place + round) % contenders.length];
      if (contender) costs.get(contender.name)?.push(await burst(contender.run, calls));
    }
  }
  return costs;
}

async function burst(run: () => Promise<unknown>, calls: number): Promise<Cost> {
  const cpuBefore = process.cpuUsage();
  const startedAt = performance.now();
  for (let call = 0; call < calls; call += 1) await run();
  const wallMs = performance.now() - startedAt;
  const { user, system } = process.cpuUsage(cpuBefore);
  return { wall: (wallMs * 1_000) / calls, cpu: (user + system) / calls };
}

/** Leaves only what is held. */
export async function collectGarbage(): Promise<void> {
  await turn();
  globalThis.gc?.();
  await turn();
}

/** Median and quartiles. */
export function spreadOf(values: readonly number[]): Spread {
  const sorted = [...values].sort((a, b) => a - b);
  const at = (share: number) => {
    const position = share * (sorted.length - 1);
    const below = sorted[Math.floor(position)] ?? Number.NaN;
    const above = sorted[Math.ceil(position)] ?? below;
    return below + (above - below) * (position - Math.floor(position));
  };
  return { median: at(0.5), low: at(0.25), high: at(0.75) };
}

export const medianOf = (values: readonly number[]) => spreadOf(values).median;

/** Each round's value as a multiple of the floor's in the same round. */
export function ratios(costs: readonly Cost[], floor: readonly Cost[], kind: keyof Cost): Spread {
  return spreadOf(costs.map((cost, round) => cost[kind] / (floor[round]?.[kind] ?? Number.NaN)));
}
