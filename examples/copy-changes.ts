/**
 * A nightly report of what has changed in a copy since the last report. It stores the number of the last change in a file. The
 * copy needs a history: npx stocklot mirror --sqlite stock.db --history 90.
 *
 * npx tsx examples/copy-changes.ts [file.db]
 */
import { readFile, rename, writeFile } from "node:fs/promises";
import { openCopy, sqliteSink } from "stocklot/mirror";
import { sampleCopy } from "./sample-copy.js";
import { printTable } from "./terminal.js";

const [path = await sampleCopy()] = process.argv.slice(2);
const cursorFile = `${path}.reported`;
const reported = Number(await readFile(cursorFile, "utf8").catch(() => "0"));

const copy = await openCopy(sqliteSink({ path }));
const counts = new Map<string, number>();
const discontinued: string[] = [];
let last = reported;
// If the last report is older than the history, this rejects. Then begin again without `after`.
for await (const { seq, resource, type, key, after } of copy.changes(reported > 0 ? { after: reported } : {})) {
  const what = `${resource} ${type}`;
  counts.set(what, (counts.get(what) ?? 0) + 1);
  if (resource === "items" && after?.discontinued === true && typeof key === "number") {
    for await (const { shortID } of copy.items({ partNo: key })) discontinued.push(shortID);
  }
  last = seq;
}
await copy.close();

printTable(
  ["change", "records"],
  [...counts].map(([what, count]) => [what, count]),
);
if (discontinued.length > 0) console.log(`  discontinued: ${discontinued.join(", ")}`);
// Stored last, and by a rename. If the report fails, the next one reports the same changes again.
await writeFile(`${cursorFile}.new`, String(last));
await rename(`${cursorFile}.new`, cursorFile);
