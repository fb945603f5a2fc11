import { monotonicNowMs } from "./clock.js";
import { sleep } from "./wait.js";

export interface Repetition<Report> {
  run(): Promise<Report>;
  /** When the next run is due, by the monotonic clock. Asked after each run. */
  nextRunAt(): number;
  /** Any of them ends the repetition. */
  ends: readonly (AbortSignal | undefined)[];
  onReport?: ((report: Report) => unknown) | undefined;
  /** Receives the error of a run or of `onReport`. Without it, or if it throws, the repetition rejects. */
  onError?: ((error: unknown) => unknown) | undefined;
}

/** Runs at intervals until it is ended, then resolves. */
export async function repeat<Report>({ run, nextRunAt, ends, onReport, onError }: Repetition<Report>): Promise<void> {
  const isEnded = () => ends.some((signal) => signal?.aborted);
  while (!isEnded()) {
    try {
      const report = await run();
      await onReport?.(report);
    } catch (error) {
      if (isEnded()) return;
      if (!onError) throw error;
      await onError(error);
    }
    await sleep(nextRunAt() - monotonicNowMs(), ...ends);
  }
}
