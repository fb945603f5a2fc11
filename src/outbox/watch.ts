import { sleep } from "../time/sleep.js";
import { monotonicNowMs } from "../time/timer.js";
import type { OutboxRunOptions, OutboxWatchOptions } from "./options.js";
import type { OutboxReport } from "./report.js";

/** Runs at intervals until the signal aborts. */
export async function watchOutbox(
  run: (options: OutboxRunOptions) => Promise<OutboxReport>,
  { everyMs, onReport, onError, ...runOptions }: OutboxWatchOptions,
): Promise<void> {
  const { signal } = runOptions;
  while (!signal?.aborted) {
    const nextRunAt = monotonicNowMs() + everyMs;
    try {
      const report = await run(runOptions);
      await onReport?.(report);
    } catch (error) {
      if (signal?.aborted) return;
      if (!onError) throw error;
      await onError(error);
    }
    await sleep(nextRunAt - monotonicNowMs(), signal);
  }
}
