import { AuthenticationError, ClientClosedError } from "../../client/index.js";
import { ConfigurationError, StorageError } from "../../shared/errors/index.js";
import type { Copy } from "../copy/copy.js";
import { droppedReport, type ListReport } from "../report.js";
import type { MirrorList } from "../tables.js";
import { CallbackFailure, type ListSync } from "./sync-list.js";

/**
 * Brings lists up to date, see sync-list.ts, and returns their reports. If one list fails, the others are still read,
 * then the first error is thrown. The run ends at once if all lists would fail: the run is aborted, a callback or the
 * database has failed, or the credentials are refused.
 *
 * @param abandoned The lists that are not mirrored any more. Their records are removed.
 */
export async function runLists(
  copy: Copy,
  lists: readonly ListSync[],
  abandoned: readonly MirrorList[],
  signal: AbortSignal | undefined,
): Promise<ListReport[]> {
  const failed = new Map<ListSync, unknown>();
  const attempt = async (list: ListSync, step: (list: ListSync) => Promise<void>) => {
    if (failed.has(list)) return;
    try {
      await step(list);
    } catch (error) {
      if (isFatal(error, signal)) throw error;
      failed.set(list, error);
      await list.fail(error);
    }
  };
  const reports: ListReport[] = [];
  try {
    for (const list of abandoned) reports.push(droppedReport(list, await copy.drop(list)));
    for (const list of lists) await attempt(list, (one) => one.readChanges());
    for (const list of lists) await attempt(list, (one) => one.makeFullPassIfNeeded());
    await copy.expireChanges();
  } catch (error) {
    if (error instanceof CallbackFailure) throw error.cause;
    // No list can be read, so each list gets the error. After an abort or a failure of the database, nothing is saved.
    if (isRefusedForAll(error)) for (const list of lists) if (!failed.has(list)) await list.fail(error);
    throw error;
  }
  const [error] = failed.values();
  if (failed.size > 0) throw error;
  for (const list of lists) reports.push(await list.report());
  return reports;
}

const isRefusedForAll = (error: unknown) => AuthenticationError.is(error) || ClientClosedError.is(error);

const isFatal = (error: unknown, signal: AbortSignal | undefined): boolean =>
  signal?.aborted === true ||
  error instanceof CallbackFailure ||
  isRefusedForAll(error) ||
  StorageError.is(error) ||
  ConfigurationError.is(error);
