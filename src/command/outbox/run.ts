import type { Outbox, OutboxReport } from "../../outbox/index.js";
import { seconds, tell, withProgress } from "../terminal.js";

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
