import { type Emitted, refuseEmptyPageWithMore } from "../emitter.js";
import { isListEmpty, type PageRequest, type PagingSettings } from "../page.js";
import type { OpenStream, PageStream } from "../prefetch.js";
import { fillGap } from "./fill-gap.js";
import { GaplessPlan } from "./plan.js";
import { createGaplessReadState, type GaplessReadState } from "./read-state.js";
import { resume } from "./resume.js";

/**
 * Reads a list so that no record is missed that exists all through, whatever is added and removed meanwhile.
 *
 * Each page overlaps what was read before and is believed only if it can be shown to: see `Continuity`. If it does not, pages
 * are read in between until it does. How many are read side by side grows with each page that joins and is halved when one
 * does not: pages that are cut at the same time in any order tolerate less change than pages cut one after the other.
 */
export async function* readGapless<T>(
  settings: PagingSettings<T>,
  openStream: OpenStream<T>,
): AsyncGenerator<Emitted<T>, void> {
  const { page: first, pageSize, from } = settings;
  const plan = new GaplessPlan(from ? { ...settings, pageSize: from.pageSize } : settings);
  const { stream, emitter } = openStream(plan, from ? plan.from(from.end) : { page: first, pageSize });
  const readState = createGaplessReadState(stream, emitter, plan, from);
  stream.pace = 1;
  if (from !== undefined) await resume(stream, readState, plan, from.keys);
  for (;;) {
    const read = await stream.peek();
    const { page } = read;
    refuseEmptyPageWithMore(page);
    if (readState.begun && isListEmpty(page)) return;
    if (readState.begun && readState.overlapOf(page).continuity === "apart") {
      stream.pace = Math.ceil(stream.pace / 2);
      emitter.gapsRepaired += 1;
      const outcome = yield* fillGap(stream, readState, plan, read);
      if (outcome === "finished") return;
      if (outcome === "elsewhere") {
        stream.restart(plan.from(readState.end));
        continue;
      }
    }
    const given = readState.emit(read, readState.accept(read));
    stream.pace += 1;
    stream.take(page.hasMore ? nextRequestOverride(stream, plan, readState) : undefined);
    yield given;
    if (!page.hasMore) return;
  }
}

/** The page to go on with, if those planned would bring nothing new, or would leave a gap even if nothing changed. */
function nextRequestOverride<T>(
  stream: PageStream<T>,
  plan: GaplessPlan,
  readState: GaplessReadState<T>,
): PageRequest | undefined {
  const { end, arrivedAt } = readState;
  const [, ...further] = stream.planned;
  const next = further[0];
  if (next === undefined) return plan.from(end, 1 + stream.answers - arrivedAt);
  return plan.offset(next) < end && further.some((request) => plan.endOf(request) > end) ? undefined : plan.from(end);
}
