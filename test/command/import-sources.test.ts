import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeEach, describe, expect, it } from "vitest";
import { ONLY_IN_TEST_ALL, RUN_ALL } from "../support/runs.js";
import { run, serve } from "./support/run-command.js";

const directory = mkdtempSync(join(tmpdir(), "stocklot-sources-"));
afterAll(() => rmSync(directory, { recursive: true }));
beforeEach(({ skip }) => skip(!RUN_ALL, ONLY_IN_TEST_ALL));

let files = 0;
function written(text: string, ending = "csv") {
  files += 1;
  const file = join(directory, `${files}.${ending}`);
  writeFileSync(file, text);
  return { file, outbox: join(directory, `${files}.db`) };
}

const args = (operation: string, { file, outbox }: ReturnType<typeof written>, ...more: string[]) => [
  "import",
  file,
  "--operation",
  operation,
  "--outbox",
  outbox,
  "--mark",
  "none",
  ...more,
];

describe("import", () => {
  it("--set sets fields of every line, --ignore leaves columns out", async () => {
    const { sandbox, env } = await serve();
    const given = written("itemID,units,colour,wid\nBOLT-M8,5,red,7\n");
    const more = ["--set", "wid=1", "--set", "reasonCode=1", "--set", "remark=a=b", "--ignore", "colour"];
    const twice = await run(args("receive", given, ...more), env);
    expect(twice).toMatchObject({
      code: 2,
      err: 'stocklot: --set wid: the column "wid" is wid, too. Add --ignore "wid".\n',
    });
    expect((await run(args("receive", given, ...more, "--ignore", "wid"), env)).code).toBe(0);
    expect(sandbox.requests.at(-1)?.body).toEqual({
      itemID: "BOLT-M8",
      units: 5,
      wid: 1,
      reasonCode: 1,
      remark: "a=b",
    });
  });

  it.each([
    [["--set", "wid"], "must be field=value"],
    [["--set", "reasonCod=1"], '--set reasonCod: receive has no field "reasonCod", did you mean "reasonCode"?'],
    [["--set", "wid=one", "--set", "reasonCode=1"], "line 2: wid must be a"],
    [["--ignore", "color"], '--ignore: there is no column "color".'],
    [["--format", "xml"], "Allowed choices are csv, ndjson"],
    [
      ["--key", "colour", "--delivery", "a", "--operation", "destroy"],
      "Allowed choices are create, update, discontinue",
    ],
  ])("refuses %j", async (more, message) => {
    const { code, err } = await run(args("receive", written("itemID,units\nBOLT-M8,5\n"), ...more, "--dry-run"), {});
    expect({ code, err }).toEqual({ code: 2, err: expect.stringContaining(message) });
  });

  it("discontinues items", async () => {
    const { sandbox, env } = await serve();
    const given = written("shortID,reason\nBOLT-M8,old\n");
    expect((await run(args("discontinue", given, "--ignore", "reason"), env)).code).toBe(0);
    expect(sandbox.requests.at(-1)).toMatchObject({ method: "DELETE", path: "/Item/BOLT-M8", status: 200 });
  });

  it.each([
    ["ndjson", []],
    ["jsonl", []],
    ["txt", ["--format", "ndjson"]],
  ])("reads NDJSON: .%s %j", async (ending, more) => {
    const { sandbox, env } = await serve();
    const lines = [
      '\uFEFF{"Article":"BOLT-M8","units":0.1,"wid":1,"reasonCode":1,"remark":null}',
      "",
      '{"remark":"5","Article":"BOLT-M8","units":2,"wid":1,"reasonCode":1}',
    ];
    const given = written(lines.join("\r\n"), ending);
    expect((await run(args("receive", given, ...more, "--map", "Article=itemID"), env)).code).toBe(0);
    const bodies = sandbox.requests.filter(({ status }) => status === 201).map(({ body }) => body);
    const common = { itemID: "BOLT-M8", wid: 1, reasonCode: 1 };
    expect(bodies).toEqual([
      { ...common, units: 0.1 },
      { ...common, units: 2, remark: "5" },
    ]);
    const outbox = await run(["outbox", "list", given.outbox], {});
    expect(outbox.out).toContain(`${files}.${ending}:3 `);
  });

  it("reads standard input, and keeps no copy of it", async () => {
    const { sandbox, env } = await serve();
    const given = written("itemID,units,wid,reasonCode\nBOLT-M8,5,1,1\n");
    const temporary = join(directory, "temporary");
    mkdirSync(temporary);
    const piped = (...more: string[]) =>
      run(args("receive", { ...given, file: "-" }, ...more), { ...env, TMPDIR: temporary }, undefined, [
        "sh",
        "-c",
        `cat ${given.file} | "$@"`,
        "sh",
      ]);
    expect(await piped()).toMatchObject({ code: 2, err: expect.stringContaining("standard input has no name") });
    expect(await piped("--delivery", "monday")).toMatchObject({ code: 0 });
    expect(await piped("--delivery", "monday")).toMatchObject({ code: 3 });
    expect(await piped("--delivery", "tuesday")).toMatchObject({ code: 0 });
    expect(await piped("--delivery", "odd", "--operation", "move")).toMatchObject({
      code: 2,
      err: expect.stringContaining("unknown columns"),
    });
    expect(sandbox.requests.filter(({ status }) => status === 201)).toHaveLength(2);
    expect(readdirSync(temporary)).toEqual([]);
  });
});
