import { InputValidationError, PaginationError } from "../../errors/index.js";
import type { ListState } from "../copy/state.js";
import type { MirrorResource } from "../tables.js";
import { FullScan } from "./full-scan.js";
import type { SyncedList, WriteOutcome } from "./synced-list.js";

/** Makes the next scan start at the beginning of the list. */
export const RESTARTED_SCAN_STATE = {
  checkpoint: undefined,
  scanned: undefined,
  scanBeganAt: undefined,
} satisfies Partial<ListState>;

/** A scan that has reached the end of the list. */
export interface FullReading extends WriteOutcome {
  scan: FullScan;
  /** When it began, before any interruption, by this machine's clock, in ms. */
  beganAt: number;
  /** The service's clock when it began, or when it was resumed, in ms. */
  startedAt: number | undefined;
}

/**
 * Reads the whole list, or the rest of it after an interrupted scan. Each page is saved with the checkpoint at which
 * the scan resumes. A full pass can resume only if records are listed in the order of their numbers; otherwise it
 * starts again.
 */
export async function readWholeList<R extends MirrorResource>(
  synced: SyncedList<R>,
  reading: "first" | "full",
): Promise<FullReading> {
  const { checkpoint, scanned, scanBeganAt = Date.now(), watermark, stale } = synced.state;
  const source = synced.reader.scan({ from: checkpoint });
  const isResumed = checkpoint !== undefined;
  const scan = new FullScan(await synced.copy.numbers(synced.list), {
    isResumed,
    scanned: isResumed ? scanned : undefined,
  });
  /** Before the page that is being written, which is read again. */
  const placeToResume = (): Partial<ListState> => {
    const found = scan.progress;
    const place = { checkpoint: source.checkpoint() ?? checkpoint, scanned: found, scanBeganAt };
    if (reading === "first") return { ...place, watermark: watermark ?? source.startedAt() };
    if (isResumed) return found ? place : RESTARTED_SCAN_STATE;
    // A pass that resumes will detect the records that are stale now, but a later note that records are stale must
    // stay.
    return found ? { ...place, stale: undefined } : { ...RESTARTED_SCAN_STATE, stale };
  };
  let written: WriteOutcome;
  try {
    written = await synced.write(reading, source, (page, numbers) => {
      const place = placeToResume();
      scan.add(numbers, page.totalCount);
      return place;
    });
  } catch (error) {
    if (!isResumed || !(error instanceof InputValidationError || error instanceof PaginationError)) throw error;
    // The scan cannot resume there any more. Records that are already in the copy do no harm.
    await synced.save(RESTARTED_SCAN_STATE);
    return readWholeList(synced, reading);
  }
  if (reading === "full" && !scan.isConclusive) {
    await synced.save(RESTARTED_SCAN_STATE);
    return readWholeList(synced, reading);
  }
  return { scan, beganAt: scanBeganAt, startedAt: source.startedAt(), ...written };
}
