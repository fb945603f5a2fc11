import { refuseEmptyPageWithMore } from "../emitter.js";
import { isListEmpty, offsetOf } from "../page.js";
import type { PageStream } from "../prefetch.js";
import type { RecordKey } from "../seen-keys.js";
import { type GaplessPlan, requestReaching } from "./plan.js";
import type { GaplessReadState } from "./read-state.js";

/** So many halvings find a page of 250 among 16 million records. */
const MAX_SEARCHES = 16;

/**
 * Finds where the iteration that gave these keys last has ended: with the first page planned, else with pages read in search
 * of one of the keys. Where none is found, the list is read from its start.
 *
 * That keys rise is only a hint where to search. A list that is sorted by something else may rise for a while, so nothing but
 * a record that was given shows that none was missed before it.
 */
export async function resume<T>(
  stream: PageStream<T>,
  readState: GaplessReadState<T>,
  plan: GaplessPlan,
  keys: readonly RecordKey[],
): Promise<void> {
  const { emitter } = readState;
  let { page } = await stream.peek();
  if (isListEmpty(page) || readState.overlapOf(page).continuity !== "apart") return;
  emitter.gapsRepaired += 1;
  let low = 0;
  let high = Infinity;
  let end = 0;
  for (let searches = 0; end === 0 && low < Math.min(high, page.totalCount) && searches < MAX_SEARCHES; searches += 1) {
    const [record] = page.value;
    const side = record === undefined ? "behind" : sideOf(emitter.keyOf(record), keys);
    if (side === undefined && searches > 0) break;
    if (side === "before") low = offsetOf(page) + page.value.length;
    if (side === "behind") high = Math.min(high, offsetOf(page));
    const limit = Math.min(high, page.totalCount);
    // At first as if all that came and went had done so before the end.
    const guess =
      searches === 0 ? readState.end + page.totalCount - readState.totalCount : Math.ceil((low + limit) / 2);
    ({ page } = await stream.read(requestReaching(Math.max(low + 1, Math.min(guess, limit)), plan.cap)));
    refuseEmptyPageWithMore(page);
    const { last } = readState.overlapOf(page);
    if (last >= 0) end = offsetOf(page) + last + 1;
  }
  readState.moveTo(end, page.totalCount);
  stream.restart(plan.from(end));
}

/** On which side of these neighbours a record probably stands, if their keys rise or fall all along. */
export function sideOf(key: RecordKey | undefined, neighbours: readonly RecordKey[]): "before" | "behind" | undefined {
  const [first, second] = neighbours;
  if (key === undefined || first === undefined || second === undefined) return undefined;
  const rises = second > first;
  const inOrder = neighbours.every((other, index) => {
    const previous = neighbours[index - 1];
    return previous === undefined || (rises ? other > previous : other < previous);
  });
  if (!inOrder) return undefined;
  return (rises ? key < first : key > first) ? "before" : "behind";
}
