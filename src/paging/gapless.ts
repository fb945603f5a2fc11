import { bridge } from "./bridge.js";
import { type Given, refuseEmptyPageWithMore } from "./delivery.js";
import { GaplessPlan } from "./gapless-plan.js";
import { createGaplessProgress, type GaplessProgress } from "./gapless-progress.js";
import type { PageRequest, PagingSettings } from "./page.js";
import type { PageStream } from "./page-stream.js";
import { isListEmpty } from "./position.js";
import { rejoin } from "./rejoin.js";
import type { Start } from "./start.js";

/**
 * Reads a list so that no record is missed that exists all through, whatever is added and removed meanwhile.
 *
 * Each page overlaps what was read before and is believed only if it can be shown to: see `Continuity`. If it does not, pages
 * are read in between until it does. How many are read side by side grows with each page that joins and is halved when one
 * does not: pages that are cut at the same time in any order tolerate less change than pages cut one after the other.
 */
export async function* readGapless<T>(settings: PagingSettings<T>, start: Start<T>): AsyncGenerator<Given<T>, void> {
  const { page: first, pageSize, from } = settings;
  const plan = new GaplessPlan(from ? { ...settings, pageSize: from.pageSize } : settings);
  const { stream, delivery } = start(plan, from ? plan.from(from.end) : { page: first, pageSize });
  const progress = createGaplessProgress(stream, delivery, plan, from);
  stream.pace = 1;
  if (from !== undefined) await rejoin(stream, progress, plan, from.keys);
  for (;;) {
    const read = await stream.peek();
    const { page } = read;
    refuseEmptyPageWithMore(page);
    if (progress.begun && isListEmpty(page)) return;
    if (progress.begun && progress.overlapOf(page).continuity === "apart") {
      stream.pace = Math.ceil(stream.pace / 2);
      delivery.gapsRepaired += 1;
      const outcome = yield* bridge(stream, progress, plan, read);
      if (outcome === "finished") return;
      if (outcome === "elsewhere") {
        stream.restart(plan.from(progress.end));
        continue;
      }
    }
    const given = progress.give(read, progress.accept(read));
    stream.pace += 1;
    stream.take(page.hasMore ? detour(stream, plan, progress) : undefined);
    yield given;
    if (!page.hasMore) return;
  }
}

/** The page to go on with, if those planned would bring nothing new, or would leave a gap even if nothing changed. */
function detour<T>(stream: PageStream<T>, plan: GaplessPlan, progress: GaplessProgress<T>): PageRequest | undefined {
  const { end, arrivedAt } = progress;
  const [, ...further] = stream.planned;
  const next = further[0];
  if (next === undefined) return plan.from(end, 1 + stream.answers - arrivedAt);
  return plan.offset(next) < end && further.some((request) => plan.reach(request) > end) ? undefined : plan.from(end);
}
