import { Command, InvalidArgumentError, Option } from "commander";
import type { FaultRule } from "../../sandbox/options/fault-rule.js";
import type { SandboxOptions } from "../../sandbox/options/options.js";
import { createSandbox } from "../../sandbox/sandbox.js";
import { CommandError, EXIT, integerOption } from "../exit.js";
import { currentShell, SHELL_NAMES, SHELLS, type Shell } from "../shell.js";
import { painter, print, tell } from "../terminal.js";
import { readCopyData } from "./copy-data.js";
import { faultOption } from "./fault-option.js";
import { connectionJson, greeting, requestLine } from "./output.js";

interface SandboxFlags {
  port: number;
  host: string;
  from?: string;
  items?: number;
  lots?: number;
  seed?: number;
  latency?: number | [number, number];
  rateLimit?: { requests: number } | false;
  tokenTtl?: number;
  readOnly?: true;
  fault?: FaultRule[];
  shell: Shell;
  json?: true;
}

/** Requests that the command keeps for its page. */
const LOG_SIZE = 1000;

const FAULT_HELP = `
A fault rule is [METHOD] [path] fault [detail=number ...], for example
  --fault "POST /Inventory/Receive drop-after times=1"
  --fault "/Item* 503 probability=0.1"
  --fault "* slow delay=100 chunk=64"
Faults: a status, drop, drop-after, hang, hang-after, slow, truncated,
invalid-json, empty, html, wrong-shape, oversized. Details: times, skip,
probability; for slow delay and chunk; for truncated and oversized bytes.`;

export function sandboxCommand(): Command {
  return new Command("sandbox")
    .description("serve the Inventory and Item Catalog Service from memory, with a web page at /")
    .option("-p, --port <port>", "port; 0 takes a free one", integerOption(0, 65_535), 4010)
    .option("--host <address>", "address to listen on", "127.0.0.1")
    .addOption(
      new Option("--from <copy>", "items and lots of a mirror's SQLite file or postgres:// address").conflicts([
        "items",
        "lots",
        "seed",
      ]),
    )
    .option("--items <count>", "items to generate (default: 250)", integerOption(0))
    .option("--lots <count>", "lots to generate (default: 2000)", integerOption(0))
    .option("--seed <number>", "the same seed generates the same data (default: 1)", integerOption(0))
    .option("--latency <ms>", "latency of each response, or a range such as 20-80 (default: 0)", latencyOption)
    .option("--rate-limit <n>", "requests per minute; off for no limit (default: 100)", rateLimitOption)
    .option("--token-ttl <s>", "lifetime of a token in seconds (default: 3600)", integerOption(1))
    .option("--read-only", "refuse every write")
    .option("--fault <rule>", "faulty responses; may be repeated", faultOption)
    .addOption(
      new Option("--shell <shell>", "syntax of the variables that are printed")
        .choices(SHELL_NAMES)
        .default(currentShell(), "the current shell"),
    )
    .option("--json", "print the connection and each request as JSON, one per line")
    .addHelpText("after", FAULT_HELP)
    .action(serve);
}

async function serve(flags: SandboxFlags): Promise<void> {
  const { port, host, shell, json } = flags;
  const copied = flags.from === undefined ? undefined : await readCopyData(flags.from);
  const sandbox = createSandbox({ ...sandboxOptions(flags), ...copied?.options });
  const server = await sandbox.listen({ port, host, page: true }).catch((error: unknown) => {
    throw listenError(error, port);
  });
  const paint = painter(process.stdout);
  sandbox.onRequest((request) => print(json ? JSON.stringify(request) : requestLine(request, paint)));
  if (copied && json) tell(copied.remark);
  if (copied && !json) await print(`${SHELLS[shell].comment} ${copied.remark}`);
  await print(json ? connectionJson(server.url, sandbox) : greeting(shell, server.url, sandbox));
  await new Promise<void>((resolve) => {
    for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => resolve());
  });
  await server.close();
  if (!json) await print(`${SHELLS[shell].comment} stopped`);
}

function sandboxOptions({
  items,
  lots,
  seed,
  latency,
  rateLimit,
  tokenTtl,
  readOnly,
  fault,
}: SandboxFlags): SandboxOptions {
  const client = { clientId: "sandbox-client", clientSecret: "sandbox-secret", readOnly: readOnly === true };
  return {
    clients: [client],
    requestLogSize: LOG_SIZE,
    faults: fault,
    items,
    lots,
    seed,
    latencyMs: latency,
    rateLimit,
    tokenTtlSeconds: tokenTtl,
  };
}

function latencyOption(text: string): number | [number, number] {
  const [min = "", max] = text.split("-");
  if (max === undefined) return integerOption(0)(min);
  const range: [number, number] = [integerOption(0)(min), integerOption(0)(max)];
  if (range[0] > range[1]) throw new InvalidArgumentError("The range must not be reversed.");
  return range;
}

function rateLimitOption(text: string): { requests: number } | false {
  return text === "off" || text === "0" ? false : { requests: integerOption(1)(text) };
}

function listenError(error: unknown, port: number): unknown {
  if (!(error instanceof Error && "code" in error)) return error;
  const hint = "Choose another one with --port, or --port 0.";
  if (error.code === "EADDRINUSE") return new CommandError(`Port ${port} is taken. ${hint}`, EXIT.failure);
  if (error.code === "EACCES") return new CommandError(`Port ${port} may not be used. ${hint}`, EXIT.failure);
  return error;
}
