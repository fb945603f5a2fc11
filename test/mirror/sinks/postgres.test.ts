import { afterAll, describe } from "vitest";
import { findPostgres } from "../../support/postgres-server.js";
import { describeSink } from "./conformance.js";

const postgres = await findPostgres();
let schemas = 0;

afterAll(() => postgres?.close());

describe.skipIf(!postgres)("postgresSink", () => {
  const connectionString = postgres?.url ?? "";
  /** Also where others test on the same server. */
  const newSchema = () => `stocklot "test" ${process.pid} ${++schemas}`;

  describeSink("as every sink", () => ({ kind: "postgres", connectionString, schema: newSchema() }));
});
