import type { Page } from "../../paging/page.js";
import { SeenKeys } from "../../paging/seen-keys.js";
import type { WriteResult } from "../local-copy.js";

/** This many changed records are enough to check increments. */
const MAX_EXPECTED = 10_000;

/** What a scan of a list has seen. */
export interface ScanResult {
  seen: SeenKeys;
  /** Records seen, each counted once. */
  count: number;
  /** The smallest number of records that the service reported meanwhile. */
  total: number;
  /** True if there were records, and they came in the order of their keys, which never change. */
  inKeyOrder: boolean;
  /** Keys of records that the service must count as modified since the copy had them last; the first ones. */
  expectedInIncrement: number[];
}

/** True if the scan saw as many records as the service reports. A list whose order changes between two pages may not show all. */
export const isComplete = ({ count, total }: ScanResult) => count >= total;

/** Writes page after page to the copy. Records that `previous` has seen count as seen. */
export async function scanPages<T>(
  pages: AsyncIterable<Page<T>>,
  write: (records: readonly T[]) => Promise<WriteResult>,
  previous?: ScanResult,
): Promise<ScanResult> {
  const { seen } = previous ?? { seen: new SeenKeys() };
  let count = previous?.count ?? 0;
  let total: number | undefined;
  const expectedInIncrement: number[] = [];
  let lastKey = Number.NEGATIVE_INFINITY;
  let inKeyOrder = true;
  for await (const { value, totalCount } of pages) {
    const written = await write(value);
    total = Math.min(total ?? totalCount, totalCount);
    if (expectedInIncrement.length < MAX_EXPECTED) expectedInIncrement.push(...written.expectedInIncrement);
    for (const key of written.keys) {
      if (seen.add(key)) count += 1;
      inKeyOrder &&= key > lastKey;
      lastKey = key;
    }
  }
  const hasRecords = lastKey > Number.NEGATIVE_INFINITY;
  return { seen, count, total: total ?? 0, inKeyOrder: inKeyOrder && hasRecords, expectedInIncrement };
}
