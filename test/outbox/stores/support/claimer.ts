/** A process of its own that claims items and settles their entries. A file per item shows that nobody else has it. */
import { randomUUID } from "node:crypto";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { storeAt } from "./store-spec.js";

const store = storeAt(JSON.parse(process.argv[2] ?? "{}"));
const directory = process.argv[3] ?? "";
const LEASE_MS = 5_000;
const owner = randomUUID();

const isAlive = (pid: number) => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

function enter(file: string): void {
  try {
    writeFileSync(file, String(process.pid), { flag: "wx" });
  } catch {
    const holder = Number(readFileSync(file, "utf8"));
    // A killed process has left its file.
    if (holder !== process.pid && isAlive(holder)) process.send?.({ violation: `${file} is held by ${holder}` });
    writeFileSync(file, String(process.pid));
  }
}

await store.open();
process.send?.({ opened: true });
for (;;) {
  const { pending, sending } = await store.count([]);
  if (pending + sending === 0) break;
  const claimed = await store.claim({ owner, leaseMs: LEASE_MS, limit: 2, except: [] });
  if (claimed.length === 0) await sleep(20);
  for (const { item, entry } of claimed) {
    const file = join(directory, encodeURIComponent(item));
    enter(file);
    let next: typeof entry | undefined = entry;
    while (next) {
      const { key, attempts, state } = next;
      const sending = { state: "sending" as const, attempts: attempts + 1 };
      const begun = await store.update(key, { state: [state], attempts, owner }, sending);
      if (!begun?.changed) break; // The lease has ended.
      await store.update(
        key,
        { state: ["sending"], attempts: attempts + 1, owner },
        { state: "applied", settledAt: 1 },
      );
      next = await store.next(item);
    }
    rmSync(file, { force: true });
    await store.release({ owner, item });
  }
}
await store.close();
process.disconnect?.();
