import type { MirrorBatch } from "../../../../src/mirror/sink.js";
import type { MirrorRecord } from "../../../../src/mirror/tables.js";
import { lot } from "./records.js";

/** How many keys the history uses: few, so that most commits replace and remove what others wrote. */
const KEYS = 700;
const UPSERTED = 120;
const REMOVED = 40;

/** The batch that every process commits as number `n`, counted from 1; the state is the number. */
export function batch(n: number): MirrorBatch {
  const key = (step: number) => 1 + ((n * 131 + step * 17) % KEYS);
  return {
    resource: "lots",
    upsert: Array.from({ length: UPSERTED }, (_, step) =>
      lot(key(step), { units: n, [`field${n % 3}`]: `commit ${n}` }),
    ),
    remove: Array.from({ length: REMOVED }, (_, step) => key(UPSERTED + step)),
    previousState: n === 1 ? undefined : String(n - 1),
    state: String(n),
  };
}

/** The records after the first `n` commits, by key. */
export function recordsAfter(n: number): Map<number, MirrorRecord> {
  const records = new Map<number, MirrorRecord>();
  for (let number = 1; number <= n; number += 1) {
    const { upsert, remove } = batch(number);
    for (const record of upsert) if ("recNo" in record) records.set(record.recNo, record);
    for (const key of remove) records.delete(Number(key));
  }
  return records;
}
