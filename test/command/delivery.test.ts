import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeEach, describe, expect, it } from "vitest";
import { sqliteOutboxStore } from "../../src/outbox/index.js";
import { createOutbox } from "../../src/outbox/outbox.js";
import { ONLY_IN_TEST_ALL, RUN_ALL } from "../support/runs.js";
import { run, serve, start } from "./support/run-command.js";

const directory = mkdtempSync(join(tmpdir(), "stocklot-delivery-"));
afterAll(() => rmSync(directory, { recursive: true }));
beforeEach(({ skip }) => skip(!RUN_ALL, ONLY_IN_TEST_ALL));

let folders = 0;

/** A file with a constant name, whose lines receive these units, and its outbox. */
function deliveries() {
  const folder = join(directory, `${++folders}-`);
  const [file, outbox] = [`${folder}day.csv`, `${folder}outbox.db`];
  return {
    file,
    outbox,
    write(...units: number[]) {
      writeFileSync(file, `itemID,units,wid,reasonCode\n${units.map((count) => `BOLT-M8,${count},1,1\n`).join("")}`);
    },
    args: (...more: string[]) => ["import", file, "--operation", "receive", "--outbox", outbox, ...more],
  };
}

const unitsOf = (sandbox: Awaited<ReturnType<typeof serve>>["sandbox"]) =>
  sandbox.requests
    .filter(({ path, status }) => path === "/Inventory/Receive" && status === 201)
    .map(({ body }) => Object(body).units);

describe("a delivery", () => {
  it("of a constant file name with other contents is refused, and sent under another name", async () => {
    const { sandbox, env } = await serve();
    const day = deliveries();
    day.write(1, 2);
    expect((await run(day.args(), env)).code).toBe(0);
    // The first lines equal those of yesterday.
    day.write(1, 2, 3);
    const refused = await run(day.args(), env);
    expect(refused).toMatchObject({ code: 2, out: "" });
    expect(refused.err).toMatch(
      /^stocklot: "\d+-day\.csv" was imported \S+Z with other contents \(2 lines then, 3 now\)\. /,
    );
    expect(refused.err).toContain("give it a name of its own with --delivery");
    expect(refused.err).toContain("If it is a corrected version of the same one, add --corrects.");
    expect(unitsOf(sandbox)).toEqual([1, 2]);
    expect((await run(day.args("--delivery", "day-2"), env)).code).toBe(0);
    expect(unitsOf(sandbox)).toEqual([1, 2, 1, 2, 3]);
    expect((await run(day.args("--delivery", "day-2"), env)).code).toBe(3);
    expect(unitsOf(sandbox)).toHaveLength(5);
  });

  it("that was complete before is shown with its rejected lines", async () => {
    const { env } = await serve();
    const day = deliveries();
    day.write(1);
    writeFileSync(day.file, "itemID,units,wid,reasonCode\nBOLT-M8,1,1,1\nNO-SUCH,1,1,1\n");
    expect((await run(day.args(), env)).code).toBe(1);
    const again = await run(day.args(), env);
    expect(again).toMatchObject({ code: 3, out: expect.stringMatching(/ 2 +1 +1 +0\n[\s\S]*:3 +rejected +\S/) });
    const json = await run(day.args("--json"), env);
    expect(json.code).toBe(3);
    expect(JSON.parse(json.out)).toMatchObject({
      delivery: { lines: 2, entries: { applied: 1, rejected: 1 } },
      open: [{ state: "rejected" }],
    });
    // Also when their contents are no longer stored.
    expect((await run(["outbox", day.outbox, "prune", "--older-than", "1ms"], env)).code).toBe(0);
    expect(await run(day.args(), env)).toMatchObject({
      code: 3,
      out: expect.stringMatching(/ 2 +1 +1 +0\n[\s\S]*:3 +rejected +not stored any more \(pruned\)\n/),
    });
  });

  it("that was interrupted is continued, and comes before any other of the same file name or contents", async () => {
    const hanging = { path: "/Inventory/Receive", skip: 5, times: 1, fault: "hang" } as const;
    const { sandbox, env } = await serve({ faults: [hanging] });
    const day = deliveries();
    day.write(...Array.from({ length: 40 }, (_, index) => index + 1));
    const { child, ended } = start(day.args("--mark", "remark", "--settle", "300ms", "--delivery", "monday"), env);
    const isHanging = () => sandbox.requests.filter(({ path }) => path === "/Inventory/Receive").length === 6;
    while (!isHanging()) await new Promise((resolve) => setTimeout(resolve, 5));
    child.kill("SIGKILL");
    await ended;
    const sent = sandbox.requests.length;
    const contents = await run(day.args("--delivery", "copy"), env);
    day.write(7);
    const name = await run(day.args("--delivery", "tuesday"), env);
    for (const { code, err } of [contents, name]) {
      expect(code).toBe(2);
      expect(err).toMatch(/^stocklot: the delivery "monday" .* is not complete: \d+ of 40 lines are not settled\. /);
      expect(err).toContain("import its file again with --delivery monday.");
    }
    expect(sandbox.requests).toHaveLength(sent);
    day.write(...Array.from({ length: 40 }, (_, index) => index + 1));
    const continued = await run(day.args("--mark", "remark", "--settle", "300ms", "--delivery", "monday"), env);
    expect(continued).toMatchObject({
      code: 0,
      err: expect.stringMatching(/^monday: continues the import of \S+Z\.\n/),
    });
    expect(unitsOf(sandbox).sort((one, other) => one - other)).toEqual(
      Array.from({ length: 40 }, (_, index) => index + 1),
    );
  });

  it("is continued with other keys, and each line is sent once", async () => {
    const { sandbox, env } = await serve({
      faults: [{ path: "/Inventory/Receive", fault: { type: "html", status: 413 }, times: 1 }],
    });
    const day = deliveries();
    writeFileSync(day.file, "reference,itemID,units,wid,reasonCode\nr1,BOLT-M8,1,1,1\nr2,BOLT-M8,2,1,1\n");
    expect((await run(day.args("--delivery", "day"), env)).code).toBe(1);
    const other = await run(day.args("--delivery", "day", "--key", "reference"), env);
    expect(other).toMatchObject({ code: 0, err: expect.stringMatching(/^day: continues the import of /) });
    expect((await run(day.args("--delivery", "day"), env)).code).toBe(3);
    expect(unitsOf(sandbox)).toEqual([1, 2]);
  });

  it("of another service is refused: an outbox that was tried with a sandbox swallows nothing", async () => {
    const [tried, real] = [await serve(), await serve()];
    const day = deliveries();
    day.write(1, 2);
    expect((await run(day.args(), tried.env)).code).toBe(0);
    const refused = await run(day.args(), real.env);
    expect(refused).toMatchObject({ code: 2, out: "" });
    expect(refused.err).toContain(`belongs to the service "${tried.env.STOCKLOT_BASE_URL}"`);
    expect(refused.err).toContain("--service-id");
    expect(real.sandbox.requests).toEqual([]);
  });

  it("with a column of keys has keys of its own", async () => {
    const { env } = await serve();
    const day = deliveries();
    writeFileSync(day.file, "id,itemID,units,wid,reasonCode\n1,BOLT-M8,1,1,1\n");
    const args = (delivery: string) => day.args("--key", "id", "--delivery", delivery);
    expect((await run(args("monday"), env)).code).toBe(0);
    expect((await run(args("tuesday"), env)).code).toBe(0);
    const outbox = createOutbox({ store: sqliteOutboxStore({ path: day.outbox }) });
    expect(await outbox.get("monday/1")).toMatchObject({ state: "applied" });
    expect(await outbox.get("tuesday/1")).toMatchObject({ state: "applied" });
    await outbox.close();
  });
});
