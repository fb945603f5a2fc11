/** How many keys are read at once. */
export const KEYS_AT_ONCE = 10_000;

/** Less than any key. */
const BEFORE_ALL = Number.MIN_SAFE_INTEGER - 1;

/** All keys, read in ascending order: those that follow the last one of the batch before. */
export async function* keysInBatches(
  keysAfter: (last: number) => readonly number[] | Promise<readonly number[]>,
): AsyncGenerator<readonly number[]> {
  let last: number | undefined = BEFORE_ALL;
  while (last !== undefined) {
    const keys: readonly number[] = await keysAfter(last);
    if (keys.length > 0) yield keys;
    last = keys.at(-1);
  }
}
