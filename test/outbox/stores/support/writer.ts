/** A process of its own that adds and settles entries until it is killed, and reports each call that has resolved. */
import { newEntry } from "./new-entry.js";
import { storeAt } from "./store-spec.js";

const store = storeAt(JSON.parse(process.argv[2] ?? "{}"));
const first = Number(process.argv[3]);
await store.open();
process.send?.({ opened: true });
for (let number = first; ; number += 1) {
  const item = `item-${number % 3}`;
  await store.add([newEntry(`${number}-a`, item), newEntry(`${number}-b`, item)]);
  process.send?.({ added: number });
  const condition = { state: "pending" as const, attempts: 0 };
  await store.update(`${number}-a`, condition, {
    state: "applied",
    attempts: 1,
    settledAt: number,
    result: `"${number}"`,
  });
  process.send?.({ settled: number });
}
