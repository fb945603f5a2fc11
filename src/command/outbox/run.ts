import type { Outbox, OutboxReport } from "../../outbox/index.js";
import { EXIT } from "../exit.js";
import { plural, print, seconds, table, tell, withProgress } from "../terminal.js";
import type { Action } from "./action.js";
import { outboxCommandLine } from "./paste.js";

/** Sends what is pending, and shows the progress. */
export function runOutbox(outbox: Outbox, signal: AbortSignal): Promise<OutboxReport> {
  return withProgress((progress) => {
    signal.addEventListener("abort", () => {
      progress.clear();
      tell("Waiting for requests under way; Ctrl-C again ends at once.");
    });
    return outbox.run({
      signal,
      onProgress: ({ applied, rejected, unknown, pending, etaMs }) =>
        progress.update(
          `${applied} applied, ${rejected} rejected, ${unknown} unknown, ${pending} pending, ${seconds(etaMs)} left`,
        ),
    });
  });
}

/** The action `run`: for instance after a decision about an unknown entry. */
export async function runAndReport({ outbox, file, flags, signal }: Action): Promise<void> {
  const report = await runOutbox(outbox, signal);
  const { applied, rejected, unknown, pending, heldBack, requests, durationMs } = report;
  process.exitCode = rejected + unknown + pending + heldBack > 0 ? EXIT.failure : EXIT.success;
  if (flags.json) return print(JSON.stringify(report));
  const row = [applied, rejected, unknown, pending, heldBack];
  await print(table(["applied", "rejected", "unknown", "pending", "held back"], [row]));
  await print(`${plural(requests, "request")}, ${seconds(durationMs)}`);
  for (const [state, count] of Object.entries({ rejected, unknown }))
    if (count > 0) tell(`What is ${state}: ${outboxCommandLine(file, "list", "--state", state)}`);
}
