/** A process of its own that prints how many lots a copy has. */
import { findSqliteDriver } from "../../../../src/storage/sqlite/driver.js";

const { DatabaseSync } = await findSqliteDriver();
const database = new DatabaseSync(process.argv[2] ?? "");
console.log(database.prepare("SELECT count(*) AS count FROM lots").all()[0]?.count);
database.close();
