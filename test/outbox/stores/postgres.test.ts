import { afterAll, describe } from "vitest";
import { postgresOutboxStore } from "../../../src/outbox/stores/postgres-store.js";
import { findPostgres } from "../../support/postgres-server.js";
import { describeStore } from "./conformance.js";

const postgres = await findPostgres();
afterAll(() => postgres?.close());

describe.skipIf(!postgres)("postgresOutboxStore", () => {
  const connectionString = postgres?.url ?? "";
  let schemas = 0;
  const newSchema = () => `outbox "test" ${process.pid} ${++schemas}`;

  describeStore("as every store", () => {
    const schema = newSchema();
    return () => postgresOutboxStore({ connectionString, schema });
  });
});
