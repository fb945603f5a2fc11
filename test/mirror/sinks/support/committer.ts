/** A process of its own that commits batch after batch of the history, until it is killed. */
import { batch } from "./history.js";
import { sinkAt } from "./sink-spec.js";

const sink = sinkAt(JSON.parse(process.argv[2] ?? "{}"));
process.send?.("opening");
let committed = Number((await sink.open()) ?? 0);
process.send?.("open");
for (;;) {
  await sink.commit(batch(committed + 1));
  committed += 1;
  process.send?.(committed);
}
