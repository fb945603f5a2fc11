/** A process of its own that claims lanes and settles their entries. A file per lane shows that nobody else has it. */
import { randomUUID } from "node:crypto";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { storeAt } from "./store-spec.js";

const store = storeAt(JSON.parse(process.argv[2] ?? "{}"));
const directory = process.argv[3] ?? "";
const LEASE_MS = 2_000;
const owner = randomUUID();

const isAlive = (pid: number) => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

/** Writes who holds the lane, and until when it does at least. */
function enter(file: string, until: number): void {
  try {
    writeFileSync(file, `${process.pid} ${until}`, { flag: "wx" });
  } catch {
    const [holder = 0, heldUntil = 0] = readFileSync(file, "utf8").split(" ").map(Number);
    // A killed process has left its file, and one that was too slow has lost its lease.
    if (holder !== process.pid && isAlive(holder) && Date.now() < heldUntil)
      process.send?.({ violation: `${file} is held by ${holder}` });
    writeFileSync(file, `${process.pid} ${until}`);
  }
}

await store.open();
process.send?.({ opened: true });
for (;;) {
  const { pending, sending } = await store.count([]);
  if (pending + sending === 0) break;
  const until = Date.now() + LEASE_MS;
  const claimed = await store.claim({ owner, leaseMs: LEASE_MS, limit: 2, except: [] });
  if (claimed.length === 0) await sleep(20);
  for (const { lane, entry } of claimed) {
    const file = join(directory, encodeURIComponent(lane));
    let isHeld = Date.now() < until;
    if (isHeld) enter(file, until);
    let next = isHeld ? entry : undefined;
    while (next) {
      const { key, attempts, state } = next;
      const sending = { state: "sending" as const, attempts: attempts + 1 };
      const begun = await store.update(key, { state, attempts, owner }, sending);
      isHeld = begun?.changed === true;
      if (!isHeld) break;
      process.send?.({ begun: key });
      const settled = { state: "applied" as const, settledAt: 1 };
      const done = await store.update(key, { state: "sending", attempts: attempts + 1, owner }, settled);
      isHeld = done?.changed === true;
      if (!isHeld) break;
      next = await store.next(lane);
    }
    if (isHeld) rmSync(file, { force: true });
    else process.send?.({ lapsed: lane });
    await store.release({ owner, lane });
  }
}
await store.close();
process.disconnect?.();
