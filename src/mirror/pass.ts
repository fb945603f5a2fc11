import type { Page } from "../paging/page.js";
import { SeenKeys } from "../paging/seen-keys.js";
import type { Written } from "./copy.js";

/** So many records that changed tell enough of a list. */
const DATED_KEPT = 10_000;

/** What a reading saw. */
export interface Pass {
  seen: SeenKeys;
  /** True if there were records, and they came in the order of their keys, which never change. */
  inOrder: boolean;
  /** Keys of records that the service must count as modified since the copy had them last: the first ones. */
  dated: number[];
}

/** Writes page after page to the copy. */
export async function readThrough<T>(
  pages: AsyncIterable<Page<T>>,
  write: (records: readonly T[]) => Promise<Written>,
): Promise<Pass> {
  const seen = new SeenKeys();
  const dated: number[] = [];
  let last = Number.NEGATIVE_INFINITY;
  let inOrder = true;
  for await (const { value } of pages) {
    const written = await write(value);
    if (dated.length < DATED_KEPT) dated.push(...written.dated);
    for (const key of written.keys) {
      seen.add(key);
      inOrder &&= key > last;
      last = key;
    }
  }
  return { seen, inOrder: inOrder && last > Number.NEGATIVE_INFINITY, dated };
}
