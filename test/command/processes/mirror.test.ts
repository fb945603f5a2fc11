import { afterAll, expect, it } from "vitest";
import { findPostgres } from "../../support/postgres-server.js";
import { commandFiles, runProcess, serve } from "../support/run-command.js";

commandFiles();

const postgres = await findPostgres();
afterAll(() => postgres?.close());

it("stocklot mirror copies into PostgreSQL, with the password of the environment", async ({ skip }) => {
  skip(postgres === undefined, "no PostgreSQL");
  const { env } = await serve({ items: 30, lots: 100 });
  const args = ["mirror", "--postgres", postgres?.url ?? ""];
  const lots = expect.stringMatching(/^lots +100 /m);
  expect(await runProcess(args, { ...env, PGPASSWORD: "unused" })).toMatchObject({ code: 0, out: lots });
  expect(await runProcess([...args, "--status"], {})).toMatchObject({ code: 0, out: lots });
});
