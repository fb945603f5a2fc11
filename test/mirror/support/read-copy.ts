/** Reads a copy in a process without the rights of root, and prints what it finds, or the error, as JSON. */

import { SqliteSink } from "../../../src/mirror/copy/sqlite.js";
import { openCopy } from "../../../src/mirror/index.js";
import { findSqliteDriver } from "../../../src/storage/sqlite-driver.js";

/** The user `nobody`, who owns no files. */
const NOBODY = 65_534;

const [path = ""] = process.argv.slice(2);
// The driver is loaded first, because an ordinary user may not be allowed to read its files.
const driver = await findSqliteDriver();
if (process.getuid?.() === 0) {
  process.setgroups?.([]);
  process.setgid?.(NOBODY);
  process.setuid?.(NOBODY);
}
try {
  const copy = await openCopy(new SqliteSink({ path }, async () => driver));
  let lots = 0;
  for await (const _ of copy.lots()) {
    lots += 1;
    // Pauses, so that the test can write to the copy during the reading.
    if (lots === 1 && process.send) {
      process.send("reading");
      await new Promise((resolve) => process.once("message", resolve));
    }
  }
  const [status] = await copy.status();
  await copy.close();
  console.log(JSON.stringify({ lots, list: status?.list }));
} catch (error) {
  console.log(JSON.stringify(error));
}
process.disconnect?.();
