/** Writes to a database in a process without the rights of root, and prints the error as JSON. */

import { openSqlite } from "../../../src/storage/sqlite.js";
import { findSqliteDriver } from "../../../src/storage/sqlite-driver.js";

/** The user `nobody`, who owns no files. */
const NOBODY = 65_534;

const [path = "", bytes = "1"] = process.argv.slice(2);
// The driver is loaded first, because an ordinary user may not be allowed to read its files.
const driver = await findSqliteDriver();
if (process.getuid?.() === 0) {
  process.setgid?.(NOBODY);
  process.setuid?.(NOBODY);
}
try {
  const connection = await openSqlite({ path, loadDriver: async () => driver });
  await connection.transaction((query) => query(`CREATE TABLE created AS SELECT zeroblob(${bytes})`));
  await connection.close();
  console.log("{}");
} catch (error) {
  console.log(JSON.stringify(error));
}
