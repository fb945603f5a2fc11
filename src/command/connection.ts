import { readFileSync } from "node:fs";
import { createInterface } from "node:readline/promises";
import { Writable } from "node:stream";
import type { Command } from "commander";
import { InventoryClient } from "../client.js";
import type { ClientOptions } from "../options.js";
import { integerOption } from "./exit.js";

/** The options that every command that connects to the service takes. */
export interface ConnectionFlags {
  baseUrl?: string;
  clientId?: string;
  clientSecretFile?: string;
  allowInsecureHttp?: true;
  rateLimit?: number;
}

export function withConnection(command: Command): Command {
  return command
    .option("--base-url <url>", "base URL with the version segment (STOCKLOT_BASE_URL)")
    .option("--client-id <id>", "client ID (STOCKLOT_CLIENT_ID)")
    .option("--client-secret-file <file>", "file with the client secret; otherwise STOCKLOT_CLIENT_SECRET, or a prompt")
    .option("--allow-insecure-http", "permit a base URL without TLS")
    .option("--rate-limit <n>", "requests per minute (default: 100)", integerOption(1));
}

/** Where the service is, and the credentials for it. */
export async function connectionOptions(flags: ConnectionFlags): Promise<ClientOptions> {
  const { baseUrl, clientId, allowInsecureHttp, rateLimit } = flags;
  return {
    baseUrl,
    clientId,
    clientSecret: await clientSecret(flags),
    allowInsecureHttp,
    rateLimit: rateLimit === undefined ? undefined : { requests: rateLimit },
  };
}

export async function openClient(flags: ConnectionFlags, options: ClientOptions = {}): Promise<InventoryClient> {
  return new InventoryClient({ ...(await connectionOptions(flags)), ...options });
}

/** Undefined if it is in the environment, or nowhere: then the client says so. */
async function clientSecret({ clientSecretFile }: ConnectionFlags): Promise<string | undefined> {
  if (clientSecretFile !== undefined) return readFileSync(clientSecretFile, "utf8").replace(/\r?\n$/, "");
  if (process.env.STOCKLOT_CLIENT_SECRET || !process.stdin.isTTY || !process.stderr.isTTY) return undefined;
  return promptSecret();
}

/** Asks for the secret on the terminal, without showing what is typed. */
async function promptSecret(): Promise<string> {
  process.stderr.write("Client secret: ");
  const hidden = new Writable({ write: (_chunk, _encoding, done) => done() });
  const prompt = createInterface({ input: process.stdin, output: hidden, terminal: true });
  try {
    return await prompt.question("");
  } finally {
    prompt.close();
    process.stderr.write("\n");
  }
}
