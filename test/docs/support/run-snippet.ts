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
  /** Null if the program was killed, for example because it did not end in time. */
  readonly exitCode: number | null;
  readonly output: string;
}

/** Visits a program before it gets the signal that ends it. Receives the address that it printed, or else its first output. */
export type Visit = (address: string) => Promise<string | undefined>;

/** Requests the address of a server once. */
const visitOnce: Visit = async (address) => {
  if (!address.startsWith("http:")) return undefined;
  try {
    const response = await fetch(address);
    return `${response.status} ${await response.text()}`;
  } catch (error) {
    return String(error);
  }
};

/** Built snippets. Each runs in its own folder. */
export interface Runnable {
  start(snippet: Snippet, visit?: Visit): { child: ChildProcess; ended: Promise<Ended> };
  run(snippet: Snippet, visit?: Visit): Promise<Ended>;
  /** Where the snippet reads and writes its files. */
  folderOf(snippet: Snippet): string;
  /** Removes the built snippets and the files that they wrote. */
  remove(): void;
}

const isTest = ({ code }: Snippet) => /from "vitest"/.test(code);

/** Whether a program runs until it receives a signal. */
const waitsForSignal = ({ code }: Snippet) => /process\.once\(("SIGTERM"|signal)/.test(code);

const fileOf = ({ name }: Snippet) => name.replace(/\W+/g, "-");

/** Each program gets its own port, because servers run at the same time. */
let nextPort = 20_000 + (process.pid % 1_000) * 20;

/** The limit for a program, in s. A look-up alone takes a minute. */
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
  const start: Runnable["start"] = (snippet, visit = visitOnce) => {
    const cwd = folderOf(snippet);
    mkdirSync(cwd, { recursive: true });
    const argv = isTest(snippet)
      ? [vitest, "run", "--root", folder, `${fileOf(snippet)}.test.mjs`]
      : [join(folder, `${fileOf(snippet)}.mjs`)];
    const env = { ...process.env, PORT: String(nextPort++), ...environment };
    const timeout = SECONDS_TO_END * 1_000;
    const child = spawn(process.execPath, argv, { cwd, env, timeout, killSignal: "SIGKILL" });
    let output = "";
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => (output += chunk));
    if (waitsForSignal(snippet))
      child.stdout.once("data", async (chunk: Buffer) => {
        const [address] = /http:\S+/.exec(chunk.toString()) ?? [];
        output += `${(await visit(address ?? chunk.toString())) ?? ""}\n`;
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
