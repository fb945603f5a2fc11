import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { createFreshRandom } from "./fresh-random.js";

/** How long the step after the first report may take: none was measured yet. */
const FIRST_STEP_MS = 80;

/**
 * Kills a forked process that reports each of its steps: after this many since its first report, anywhere in the two that
 * follow. So it has done something, however slow the machine is. Resolves when all its reports have arrived.
 */
export async function killAfter(child: ChildProcess, steps: number): Promise<void> {
  const random = createFreshRandom();
  let seen = -1;
  let startedAt = 0;
  child.on("message", () => {
    seen += 1;
    if (seen === 0) startedAt = performance.now();
    if (seen !== steps) return;
    const withinMs = steps === 0 ? FIRST_STEP_MS : (2 * (performance.now() - startedAt)) / steps;
    setTimeout(() => child.kill("SIGKILL"), random() * withinMs);
  });
  // "exit" may come before the last report.
  const [code, signal] = await once(child, "close");
  if (signal !== "SIGKILL") throw new Error(`the process ended by itself with ${code}`);
}
