import { monotonicNowMs } from "../time/clock.js";
import { sleep } from "../time/wait.js";
import type { OutboxRunOptions, OutboxWatchOptions } from "./options.js";
import type { OutboxReport } from "./report.js";

/** Runs at intervals until the signal aborts, or the outbox is closed. */
export async function watchOutbox(
  run: (options: OutboxRunOptions) => Promise<OutboxReport>,
  closed: AbortSignal,
  { everyMs, onReport, onError, ...runOptions }: OutboxWatchOptions,
): Promise<void> {
  const { signal } = runOptions;
  const isEnded = () => signal?.aborted || closed.aborted;
  while (!isEnded()) {
    const nextRunAt = monotonicNowMs() + everyMs;
    try {
      const report = await run(runOptions);
      await onReport?.(report);
    } catch (error) {
      if (isEnded()) return;
      if (!onError) throw error;
      await onError(error);
    }
    await sleep(nextRunAt - monotonicNowMs(), signal, closed);
  }
}
