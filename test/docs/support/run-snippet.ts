import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buildPrograms } from "../../support/built-program.js";
import { ROOT } from "./markdown.js";
import type { Snippet } from "./snippets.js";

/** How a program ended. */
export interface Ended {
  /** Null if it was killed, as happens if it does not end by itself in time. */
  readonly exitCode: number | null;
  readonly output: string;
}

/** Snippets, ready to be run one by one, each in a folder of its own. */
export interface Runnable {
  start(snippet: Snippet, queries?: readonly string[]): { child: ChildProcess; ended: Promise<Ended> };
  /** @param queries of a program that prints its address, what to request there besides that address */
  run(snippet: Snippet, queries?: readonly string[]): Promise<Ended>;
  /** Where the snippet reads and writes its files. */
  folderOf(snippet: Snippet): string;
  /** Removes the built snippets and these files. */
  remove(): void;
}

const isTest = ({ code }: Snippet) => /from "vitest"/.test(code);

/** A program that runs until it receives a signal. If it prints its address, that is requested first. */
const waitsForSignal = ({ code }: Snippet) => code.includes(`process.once("SIGTERM"`);

const fileOf = ({ name }: Snippet) => name.replace(/\W+/g, "-");

/** A look-up takes a minute. */
const SECONDS_TO_END = 200;

/**
 * Builds snippets against the sources, since there may be no build of the package yet.
 *
 * @param addresses the addresses in the snippets, and their replacements
 */
export async function buildSnippets(
  snippets: readonly Snippet[],
  addresses: Readonly<Record<string, string>>,
  environment: Readonly<Record<string, string>>,
): Promise<Runnable> {
  const folder = mkdtempSync(join(tmpdir(), "stocklot-snippets-"));
  for (const snippet of snippets) {
    const code = Object.entries(addresses).reduce((text, [from, to]) => text.replaceAll(from, to), snippet.code);
    writeFileSync(join(folder, `${fileOf(snippet)}.ts`), `${code}\nexport {};\n`);
  }
  await buildPrograms(
    snippets.map((snippet) => ({
      in: join(folder, `${fileOf(snippet)}.ts`),
      out: isTest(snippet) ? `${fileOf(snippet)}.test` : fileOf(snippet),
    })),
    folder,
  );
  const vitest = join(ROOT, "node_modules/vitest/vitest.mjs");
  const folderOf = (snippet: Snippet) => join(folder, `${fileOf(snippet)}-files`);
  const start: Runnable["start"] = (snippet, queries = []) => {
    const cwd = folderOf(snippet);
    mkdirSync(cwd, { recursive: true });
    const argv = isTest(snippet)
      ? [vitest, "run", "--root", folder, `${fileOf(snippet)}.test.mjs`]
      : [join(folder, `${fileOf(snippet)}.mjs`)];
    const env = { ...process.env, ...environment };
    const timeout = SECONDS_TO_END * 1_000;
    const child = spawn(process.execPath, argv, { cwd, env, timeout, killSignal: "SIGKILL" });
    let output = "";
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => (output += chunk));
    if (waitsForSignal(snippet))
      child.stdout.once("data", async (chunk: Buffer) => {
        const [address] = /http:\S+/.exec(chunk.toString()) ?? [];
        for (const query of address ? ["", ...queries] : []) {
          const response = await fetch(query ? new URL(query, address) : String(address));
          output += `${response.status} ${await response.text()} ${response.headers.get("retry-after") ?? ""}\n`;
        }
        child.kill("SIGTERM");
      });
    const ended = once(child, "close").then(([exitCode]) => ({ exitCode, output }));
    return { child, ended };
  };
  return {
    start,
    run: (...given) => start(...given).ended,
    folderOf,
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}
