import { createInterface } from "node:readline/promises";
import { Writable } from "node:stream";
import { Command, Option } from "commander";
import { type ClientOptions, InventoryClient, type Logger } from "../client/index.js";
import { fieldOf } from "../shared/unknown.js";
import { CommandError, durationOption, EXIT, failureOrInterruption, integerOption, interruptSignal } from "./exit.js";
import { readInputFile } from "./files.js";
import { noteWaiting, tell } from "./terminal.js";

export interface ConnectionFlags {
  baseUrl?: string;
  serviceId?: string;
  clientId?: string;
  clientSecretFile?: string;
  allowInsecureHttp?: true;
  rateLimit?: number;
  timeout?: number;
  responseValidation?: "error" | "warn" | "off";
}

/** `stocklot help connection`: the options that every command takes that connects to the service. */
export function connectionTopic(): Command {
  const topic = new Command("connection")
    .description("the options of every command that connects to the service")
    .action(() => topic.outputHelp());
  for (const option of CONNECTION_OPTIONS()) topic.addOption(option);
  return topic;
}

const CONNECTION_OPTIONS = () => [
  new Option("--base-url <url>", "base URL with the version segment (default: STOCKLOT_BASE_URL)"),
  new Option("--service-id <name>", "name of the service, if its URL may change (default: STOCKLOT_SERVICE_ID)"),
  new Option("--client-id <id>", "client ID (default: STOCKLOT_CLIENT_ID)"),
  new Option("--client-secret-file <file>", "file with the secret (default: STOCKLOT_CLIENT_SECRET, or a prompt)"),
  new Option("--allow-insecure-http", "permit a base URL without TLS; the secret is then not encrypted"),
  new Option("--rate-limit <n>", "requests per minute (default: 100)").argParser(integerOption(1)),
  new Option("--timeout <time>", "time limit of one attempt of a request (default: 30s)").argParser(durationOption),
  new Option("--response-validation <mode>", "reaction to undocumented responses (default: error)").choices([
    "error",
    "warn",
    "off",
  ]),
];

/** Adds the options of the connection. The help describes them once, under `stocklot help connection`. */
export function withConnection(command: Command): Command {
  for (const option of CONNECTION_OPTIONS()) command.addOption(option.hideHelp());
  return command.addHelpText("after", "\nConnection: see stocklot help connection");
}

/** The options of the connection that were given, for a command to paste. */
export const connectionWords = (flags: ConnectionFlags): string[] =>
  CONNECTION_OPTIONS().flatMap((option) => {
    const value: unknown = fieldOf(flags, option.attributeName());
    if (value === undefined || value === null) return [];
    if (value === true) return [`${option.long}`];
    return [`${option.long}`, option.long === "--timeout" ? `${value}ms` : String(value)];
  });

export async function connectionOptions(flags: ConnectionFlags): Promise<ClientOptions> {
  const { allowInsecureHttp, rateLimit, timeout } = flags;
  return {
    baseUrl: flags.baseUrl,
    serviceId: (flags.serviceId ?? process.env.STOCKLOT_SERVICE_ID) || undefined,
    clientId: flags.clientId,
    clientSecret: await clientSecret(flags),
    allowInsecureHttp,
    rateLimit: rateLimit === undefined ? undefined : { requests: rateLimit },
    timeoutMs: timeout,
    responseValidation: flags.responseValidation,
    ...(flags.responseValidation === "warn" && { logger: firstWarnings() }),
    hooks: {
      // A pause after a 429 is the service's rate limit.
      waiting: ({ expectedMs }) => noteWaiting(expectedMs, "the rate limit"),
      response: ({ method, path, status }) => {
        if (method !== "GET" && path !== "/Token" && status < 300) writes += 1;
      },
    },
  };
}

let writes = 0;

/** How many writes the service has confirmed to this process. */
export const countWrites = (): number => writes;

const MAX_WARNINGS = 10;

/** Prints the first warnings: every page of a list may contain what is not as documented. */
function firstWarnings(): Logger {
  let warnings = 0;
  const warn = (message: string) => {
    warnings += 1;
    if (warnings <= MAX_WARNINGS) tell(`warning: ${message.replace(/^stocklot: /, "")}`);
    if (warnings === MAX_WARNINGS) tell("warning: further warnings are not shown.");
  };
  return { debug() {}, info() {}, error() {}, warn };
}

/**
 * Does the work of a command with a client, and closes it. Ctrl-C aborts the signal.
 *
 * @param advice what to do after an interruption
 */
export async function withClient(
  flags: ConnectionFlags,
  work: (client: InventoryClient, signal: AbortSignal) => Promise<void>,
  advice?: string,
  signal: AbortSignal = interruptSignal(),
): Promise<void> {
  const client = new InventoryClient(await connectionOptions(flags));
  try {
    await work(client, signal);
  } catch (error) {
    throw failureOrInterruption(error, signal, advice);
  } finally {
    await client.close();
  }
}

/** Undefined if the client is to read the variable, or to report that there is none. */
async function clientSecret({ clientSecretFile: file }: ConnectionFlags): Promise<string | undefined> {
  if (file !== undefined) {
    const text = readInputFile(file, "--client-secret-file: ").toString();
    // Editors and shells add a byte order mark and line breaks, which are not part of the secret.
    const secret = text.replace(/^\uFEFF/, "").trim();
    if (secret === "") throw new CommandError(`--client-secret-file: ${file} is empty.`);
    return secret;
  }
  if (process.env.STOCKLOT_CLIENT_SECRET?.trim()) return undefined;
  // Nobody answers in a build, though it may have a terminal.
  const isAsked = process.stdin.isTTY && process.stderr.isTTY && !process.env.CI;
  return isAsked ? promptSecret() : undefined;
}

/** Asks for the secret on the terminal, without showing what is typed. */
async function promptSecret(): Promise<string> {
  const hidden = new Writable({ write: (_chunk, _encoding, done) => done() });
  const prompt = createInterface({ input: process.stdin, output: hidden, terminal: true });
  // Only now, since until then the terminal would show what is typed.
  process.stderr.write("Client secret: ");
  const ended = new AbortController();
  prompt.once("SIGINT", () => ended.abort(new CommandError("interrupted", EXIT.interrupted)));
  // Ctrl-D: no line would ever end the question.
  prompt.once("close", () => ended.abort(new CommandError("no client secret was given")));
  try {
    return await prompt.question("", { signal: ended.signal });
  } catch (error) {
    throw ended.signal.aborted ? ended.signal.reason : error;
  } finally {
    prompt.close();
    process.stderr.write("\n");
  }
}
