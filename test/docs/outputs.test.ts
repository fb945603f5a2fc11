import { execFile, execFileSync } from "node:child_process";
import { chmodSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { SandboxOptions } from "stocklot/sandbox";
import { describe, expect, it } from "vitest";
import { COMMAND_FILE, commandFiles, serve } from "../command/support/run-command.js";
import { blocksOf, type CodeBlock, comparable, guides, ROOT } from "./support/markdown.js";
import { buildSnippets } from "./support/run-snippet.js";
import { snippets } from "./support/snippets.js";

/*
 * Runs the programs and commands of the guides, and compares their output with the output that the page shows below them.
 * `UPDATE_DOCS=1` writes the current output into the pages.
 */

const fileNamed = commandFiles();

/** A program or commands of a page, with the output that the page shows below them. */
interface Shown {
  readonly program: CodeBlock;
  readonly output: CodeBlock;
}

const PROGRAM = ["ts", "sh"];

/** The commands of a stock count. People count between them, so recipes.test.ts runs them instead. */
const isCount = ({ code }: CodeBlock) => code.includes("count snapshot");

/** Whether at most a sentence is between a program and an output. */
const isNext = (program: CodeBlock, output: CodeBlock) =>
  output.line - program.line - program.code.split("\n").length <= 4;

/** All guides but the README, whose first program is tested by run.test.ts with a larger sandbox. */
const pages = guides().filter(({ path }) => path !== "README.md");

const shown: Shown[] = pages.flatMap((page) =>
  blocksOf(page, ...PROGRAM, "text", "tsx", "js", "json", "yaml", "sql", "powershell", "dockerfile").flatMap(
    (output, index, blocks) => {
      const program = blocks[index - 1];
      const isOutput =
        output.info === "text" &&
        program &&
        PROGRAM.includes(program.info) &&
        isNext(program, output) &&
        !isCount(program);
      return isOutput ? [{ program, output }] : [];
    },
  ),
);

interface Given {
  readonly files?: Readonly<Record<string, string>>;
  /** Commands that run first. */
  readonly before?: string;
  readonly sandbox?: SandboxOptions;
}

const IMPORT = "npx stocklot import delivery.csv --operation receive --outbox outbox.db --key reference";
const DELIVERY =
  "reference,itemID,units,wid,reasonCode\nASN-4711/1,BOLT-M8,50,3,1\nASN-4711/2,NO-SUCH,20,3,1\nASN-4711/3,NUT-M8,10,3,1\n";

/** What must exist before the programs of a page run. */
const GIVEN: Readonly<Record<string, Given>> = {
  "docs/command.md": { files: { "delivery.csv": DELIVERY } },
  "docs/lost.md": { files: { "delivery.csv": DELIVERY }, before: `${IMPORT}; npx stocklot mirror --sqlite stock.db` },
  "docs/plan.md": {
    files: {
      "erp.csv":
        "shortID,description,category\nBOLT-M9,Hex bolt M9,10\nBOLT-M8,Hex bolt M8,10\nCBL-00008-7X1,Control cable,20\n",
    },
  },
  "docs/writes.md": {
    sandbox: { faults: [{ method: "POST", path: "/Inventory/Receive", times: 1, fault: "drop-after" }] },
  },
};

/** Replaces each port by 4010, the port of `stocklot sandbox` that the pages show. */
const withPort = (text: string) => text.replace(/127\.0\.0\.1:\d+/g, "127.0.0.1:4010");

let folders = 0;

async function printed({ page, info, code }: CodeBlock): Promise<string> {
  const { files = {}, before = "", sandbox = {} } = GIVEN[page] ?? {};
  const { env } = await serve(sandbox);
  if (info === "ts") {
    const snippet = snippets().find((each) => each.page === page && each.code === code);
    if (!snippet) throw new Error(`${page} has no program ${code}`);
    const built = await buildSnippets([snippet], {}, { NODE_NO_WARNINGS: "1", ...env });
    const { output } = await built.run(snippet);
    built.remove();
    return output;
  }
  folders += 1;
  for (const [name, text] of Object.entries(files)) fileNamed(`${folders}/${name}`, text);
  const npx = `#!/bin/sh\nshift\nexec "${process.execPath}" "${COMMAND_FILE}" "$@"\n`;
  chmodSync(fileNamed(`${folders}/bin/npx`, npx), 0o755);
  const cwd = fileNamed(`${folders}`);
  const variables = {
    ...process.env,
    npm_command: "exec",
    NODE_NO_WARNINGS: "1",
    ...env,
    PATH: `${cwd}/bin:${process.env.PATH}`,
  };
  const run = (script: string) =>
    new Promise<string>((resolve) => {
      execFile("bash", ["--norc", "-c", `exec 2>&1\n${script}`], { cwd, env: variables }, (_, out) => resolve(out));
    });
  await run(before);
  return run(code);
}

describe("what a page shows below a program is what it prints", () => {
  it.each(
    shown.map(({ program, output }) => [`${output.page}, in "${program.code.split("\n")[0]}"`, program, output]),
  )("%s", async (_, program, output) => {
    const now = await printed(program);
    if (process.env.UPDATE_DOCS && comparable(now) !== comparable(output.code)) {
      const path = join(ROOT, output.page);
      const [before, after] = ["```text\n", `${withPort(now).replace(/ +$/gm, "").trim()}\n`];
      const text = readFileSync(path, "utf8");
      const at = text.indexOf(`${program.code}\`\`\``);
      const from = text.indexOf(before, at) + before.length;
      writeFileSync(path, text.slice(0, from) + after + text.slice(text.indexOf("```", from)));
    } else expect(comparable(now)).toBe(comparable(output.code));
  });
});

it("each guide begins with a program and its output", () => {
  // Exceptions: an index, programs to copy, tables, and pages that begin with a set-up.
  const others = ["README", "recipes", "reference", "releasing", "start", "agents"].map((name) => `docs/${name}.md`);
  const beginnings = pages
    .filter(({ path }) => !others.includes(path))
    .map((page) => ({ path: page.path, infos: blocksOf(page, "ts", "sh", "text", "json").slice(0, 2) }));
  expect(beginnings.length).toBeGreaterThan(8);
  const wrong = beginnings.filter(
    ({ infos: [first, second] }) => !PROGRAM.includes(first?.info ?? "") || second?.info !== "text",
  );
  expect(wrong.map(({ path }) => path)).toEqual([]);
});

describe("what people copy", () => {
  const code = guides().flatMap((page) => blocksOf(page, "ts", "tsx", "js", "sh", "text", "powershell", "sql", "yaml"));

  it("is a script that a shell accepts", () => {
    for (const { page, line, code: script } of guides().flatMap((page) => blocksOf(page, "sh")))
      expect(() => execFileSync("bash", ["-n"], { input: script, stdio: "pipe" }), `${page}:${line}`).not.toThrow();
  });

  it("has no prompts: output is in a block of its own", () => {
    expect(code.filter((block) => /^\s*[$>] /m.test(block.code)).map(({ page, line }) => `${page}:${line}`)).toEqual(
      [],
    );
  });

  /** Words that look like SKUs but are something else, and SKUs that do not exist on purpose. */
  const OTHERS: Readonly<Record<string, string>> = {
    "NO-SUCH": "does not exist",
    "BOLT-M9": "a new item of a plan",
    "BOLT-8": "created by the program",
    "GR-2026-0815": "a serial",
    "GR-2026-0816": "a serial",
    "ASN-4711": "the caller's number",
    "UTF-8": "an encoding",
  };

  it("names SKUs and warehouses that the sandbox has", async () => {
    const { client } = await serve();
    const items = await client.items.list({ includeDiscontinued: true }).toArray();
    const skus = new Set(items.map(({ shortID }) => shortID));
    const lots = await client.inventory.listLots().toArray();
    const warehouses = new Set(lots.map(({ wID }) => wID));
    const inline = guides().map(({ path, text }) => ({
      page: path,
      line: 0,
      code: [...text.matchAll(/`([^`\n]+)`/g)].map(([, word]) => word).join("\n"),
    }));
    const unknown = [...code, ...inline].flatMap(({ page, line, code: text }) => [
      ...[...text.matchAll(/(?<![\w$/-])[A-Z]{2,}(?:-[A-Z\d]+)+\b/g)].flatMap(([word]) =>
        skus.has(word) || word in OTHERS ? [] : [`${page}:${line} ${word}`],
      ),
      ...[...text.matchAll(/\bwi?d"?(?::| =|=)? (\d+)|\bwarehouses(?:: \[|[ =])([\d, ]+)/gi)].flatMap(
        ([all, one, several]) =>
          (one ?? several ?? "").split(",").every((each) => warehouses.has(Number(each)))
            ? []
            : [`${page}:${line} ${all}`],
      ),
    ]);
    expect(unknown).toEqual([]);
  });
});
