import { execFile } from "node:child_process";
import { chmodSync, existsSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { text } from "node:stream/consumers";
import { afterAll, describe, expect, it } from "vitest";
import { COMMAND_FILE, commandFiles, serve } from "../command/support/run-command.js";
import { blocksOf, guides } from "./support/markdown.js";

/*
 * Runs the scheduled jobs of the guides that raise an alarm, exactly as they are printed. A listener takes the place of the
 * address in ALERT_URL. The body of each alarm must contain the cause.
 */

const fileNamed = commandFiles();
const alarms: string[] = [];
const listener = createServer((request, response) => {
  text(request).then((body) => {
    alarms.push(body);
    response.end();
  });
});
afterAll(() => listener.close());

/** Returns the commands of a page that may raise an alarm, each with all of its lines. */
const jobsOf = (path: string): string[] =>
  guides()
    .filter((page) => page.path === path)
    .flatMap((page) => blocksOf(page, "sh"))
    .filter(({ code }) => code.includes("$ALERT_URL"))
    .flatMap(({ code }) => code.split(/^(?=npx )/m));

let folders = 0;

/** Creates a folder for jobs. `run` runs a job there, and returns the alarms that the job has raised. */
async function nights(env: Record<string, string>) {
  if (!listener.listening) await new Promise<void>((resolve) => listener.listen(0, "127.0.0.1", resolve));
  const address = listener.address();
  const port = typeof address === "object" ? address?.port : 0;
  folders += 1;
  const folder = `nights-${folders}`;
  const npx = fileNamed(`${folder}/bin/npx`, `#!/bin/sh\nshift\nexec "${process.execPath}" "${COMMAND_FILE}" "$@"\n`);
  chmodSync(npx, 0o755);
  const cwd = fileNamed(folder);
  const variables = {
    ...env,
    PATH: `${cwd}/bin:${process.env.PATH}`,
    ALERT_URL: `http://127.0.0.1:${port}/`,
    NODE_NO_WARNINGS: "1",
  };
  return {
    file: (name: string, content?: string) => fileNamed(`${folder}/${name}`, content),
    run: async (job: string | undefined, more: Record<string, string> = {}): Promise<string[]> => {
      alarms.length = 0;
      await new Promise((resolve) =>
        execFile("bash", ["-c", job ?? "exit 1"], { cwd, env: { ...variables, ...more } }, resolve),
      );
      return [...alarms];
    },
  };
}

const HEADER = "reference,itemID,units,wid,reasonCode\n";

describe("the nightly import", () => {
  const [night, morning] = jobsOf("docs/recipes.md");

  it("raises alarms whose bodies name the reason, as long as it lasts", async () => {
    const { env, sandbox } = await serve();
    const { file, run } = await nights(env);
    expect(await run(morning)).toEqual([expect.stringContaining("outbox.db: no such file")]);
    expect(await run(night)).toEqual([expect.stringContaining("delivery.csv: no such file")]);
    file("delivery.csv", `${HEADER}A/1,BOLT-M8,many,1,1\n`);
    expect(await run(night)).toEqual([expect.stringContaining('line 2: units must be a number, not "many"')]);
    file("delivery.csv", `${HEADER}A/1,BOLT-M8,5,1,1\n`);
    expect(await run(night)).toEqual([]);
    expect(await run(night)).toEqual([]);
    expect(await run(morning)).toEqual([]);
    file("delivery.csv", `${HEADER}A/1,BOLT-M8,5,1,1\nA/2,NO-SUCH,5,1,1\n`);
    expect(await run(night)).toEqual([expect.stringMatching(/line 3 is rejected: .*NO-SUCH/)]);
    // The import of this file is complete, so the nightly job is silent. The morning job still reports the rejected entry.
    expect(await run(night)).toEqual([]);
    for (const time of ["first", "second"])
      expect([time, ...(await run(morning))]).toEqual([
        time,
        expect.stringMatching(/1 entry rejected: .*\n.* --state rejected/),
      ]);
    file("delivery.csv", `${HEADER}0,BOLT-M8,5,1,1\n00,BOLT-M8,5,1,1\n`);
    expect(await run(night)).toEqual([expect.stringContaining("in another notation")]);
    file("delivery.csv", `${HEADER}A/3,BOLT-M8,5,1,1\n`);
    expect(await run(night, { STOCKLOT_CLIENT_SECRET: "wrong" })).toEqual([
      expect.stringContaining("Check clientId and clientSecret"),
    ]);
    expect(await run(morning?.replace("26h", "1ms"))).toEqual([expect.stringContaining("It waits for longer than")]);
    expect(sandbox.requests.some(({ path }) => path === "/Inventory/Receive")).toBe(true);
  });
});

describe("the nightly copy", () => {
  const [night, morning] = jobsOf("docs/mirror.md");

  it("raises alarms whose bodies name the reason", async () => {
    const { env } = await serve({ items: 3, lots: 5 });
    const { file, run } = await nights(env);
    expect(await run(morning)).toEqual([expect.stringContaining("stock.db does not exist")]);
    expect(await run(night, { STOCKLOT_CLIENT_SECRET: "wrong" })).toEqual([
      expect.stringContaining("Check clientId and clientSecret"),
    ]);
    expect(await run(morning)).toEqual([expect.stringMatching(/not complete yet|does not exist/)]);
    for (const end of ["", "-wal", "-shm"]) if (existsSync(file(`stock.db${end}`))) rmSync(file(`stock.db${end}`));
    expect(await run(night)).toEqual([]);
    expect(await run(morning)).toEqual([]);
    expect(await run(morning?.replace("26h", "1ms"))).toEqual([expect.stringContaining("The copy is older than")]);
  });
});
