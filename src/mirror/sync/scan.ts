import type { Page } from "../../paging/page.js";
import { SeenKeys } from "../../paging/seen-keys.js";
import type { Written } from "../local-copy.js";

/** So many records that changed tell enough of a list. */
const MAX_EXPECTED = 10_000;

/** What a reading saw. */
export interface ScanResult {
  seen: SeenKeys;
  /** How many records it saw, each once. */
  count: number;
  /** How many there were when there were least, as the service counts. */
  total: number;
  /** True if there were records, and they came in the order of their keys, which never change. */
  inKeyOrder: boolean;
  /** Keys of records that the service must count as modified since the copy had them last: the first ones. */
  expectedInIncrement: number[];
}

/** True if it saw as many records as the service counts. A list whose order changes between two pages may not show all. */
export const isComplete = ({ count, total }: ScanResult) => count >= total;

/** Writes page after page to the copy; what a reading before it saw counts as seen. */
export async function scanPages<T>(
  pages: AsyncIterable<Page<T>>,
  write: (records: readonly T[]) => Promise<Written>,
  before?: ScanResult,
): Promise<ScanResult> {
  const { seen } = before ?? { seen: new SeenKeys() };
  let count = before?.count ?? 0;
  let total: number | undefined;
  const expectedInIncrement: number[] = [];
  let last = Number.NEGATIVE_INFINITY;
  let inKeyOrder = true;
  for await (const { value, totalCount } of pages) {
    const written = await write(value);
    total = Math.min(total ?? totalCount, totalCount);
    if (expectedInIncrement.length < MAX_EXPECTED) expectedInIncrement.push(...written.expectedInIncrement);
    for (const key of written.keys) {
      if (seen.add(key)) count += 1;
      inKeyOrder &&= key > last;
      last = key;
    }
  }
  return {
    seen,
    count,
    total: total ?? 0,
    inKeyOrder: inKeyOrder && last > Number.NEGATIVE_INFINITY,
    expectedInIncrement,
  };
}
