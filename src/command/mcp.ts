import { randomUUID } from "node:crypto";
import { mkdir, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { Writable } from "node:stream";
import { Command, InvalidArgumentError, Option } from "commander";
import { InventoryClient } from "../client/index.js";
import { BOOKINGS, type Booking, type ServerParts, TIMES } from "../mcp/parts.js";
import { type MirrorCopy, openCopy, postgresSink, sqliteSink } from "../mirror/index.js";
import { SingleWrites } from "../outbox/for-rooms.js";
import { createOutbox } from "../outbox/index.js";
import { type ConnectionFlags, connectionOptions, connectionWords, withConnection } from "./connection.js";
import { isPostgresAddress, outboxStoreOf, postgresAddress } from "./database.js";
import { CommandError, durationOption, failureMessage, interruptSignal } from "./exit.js";
import { withHelp } from "./help.js";
import { commandLine, outboxCommandLine } from "./shell.js";
import { tell } from "./terminal.js";

interface McpFlags extends ConnectionFlags {
  copy?: string;
  outbox?: string;
  operations?: Booking[];
  plans?: string;
  confirm: "always" | "never";
  settle?: number;
}

export function mcpCommand(): Command {
  const command = new Command("mcp")
    .description("serve tools for an assistant (Model Context Protocol, over stdio)")
    .option("--copy <file>", "copy of stocklot mirror: SQLite file, or postgres://user@host/db")
    .option("--outbox <file>", "store of what is booked: SQLite file, or postgres://user@host/db")
    .option("--operations <list>", "with --outbox, what may be booked, such as receive,move,issue", operationsOption)
    .option("--plans <folder>", "where plans of the catalog are written")
    .addOption(
      new Option("--confirm <when>", "whether a person is asked before a write")
        .choices(["always", "never"])
        .default("always"),
    )
    .option("--settle <time>", "as for import (default: 60s)", durationOption)
    .action(serveTools);
  return withHelp(withConnection(command), {}, "stocklot mcp --outbox outbox.db --operations receive");
}

function operationsOption(text: string): Booking[] {
  return text.split(",").map((part) => {
    const found = BOOKINGS.find((name) => name === part.trim());
    if (found) return found;
    throw new InvalidArgumentError(`It must be some of ${BOOKINGS.join(",")}.`);
  });
}

async function serveTools(flags: McpFlags): Promise<void> {
  const { outbox: outboxFile, operations = [], confirm, settle: settleMs } = flags;
  if (operations.length > 0 && outboxFile === undefined) throw new CommandError("--operations needs --outbox.");
  const output = protocolOutput();
  const connection = await connectionOptions(flags);
  const client = openClient(connection);
  const store = outboxFile === undefined ? undefined : outboxStoreOf("--outbox", outboxFile, "create");
  const outbox = store && createOutbox({ client: client instanceof Error ? undefined : client, store, settleMs });
  const copy = flags.copy === undefined ? undefined : copyReader(flags.copy);
  const parts: ServerParts = {
    client,
    copy: copy?.open,
    outbox,
    writes: outbox && new SingleWrites(outbox),
    operations,
    confirms: confirm === "always",
    savePlan: flags.plans === undefined ? undefined : planWriter(flags.plans),
    advice: adviceFor(
      outboxFile === undefined || isPostgresAddress(outboxFile) ? outboxFile : resolve(outboxFile),
      flags,
    ),
    onError: (error) => tell(`stocklot: ${failureMessage(error)}`),
    times: TIMES,
  };
  const { serveMcp } = await import("../mcp/index.js");
  try {
    await serveMcp(parts, { input: process.stdin, output }, interruptSignal());
  } finally {
    process.stdin.destroy();
    await outbox?.close();
    await copy?.close();
    if (!(client instanceof Error)) await client.close();
  }
}

/** Standard output has nothing but the protocol: what anything else prints goes to standard error. */
function protocolOutput(): Writable {
  const { stdout, stderr } = process;
  const write = stdout.write.bind(stdout);
  stdout.write = stderr.write.bind(stderr);
  const output = new Writable({ write: (chunk: Buffer, _encoding, done) => void write(chunk, done) });
  // Each message that waits for the reader listens: Node.js would warn about more than ten.
  return output.setMaxListeners(0);
}

function openClient(options: ConstructorParameters<typeof InventoryClient>[0]): ServerParts["client"] {
  try {
    return new InventoryClient(options);
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}

/** Opens the copy at first use, and again if that failed: a mirror may create it meanwhile. */
function copyReader(place: string) {
  const sink = isPostgresAddress(place)
    ? postgresSink({ connectionString: postgresAddress("--copy", place) })
    : sqliteSink({ path: place });
  let copy: Promise<MirrorCopy> | undefined;
  const open = () => {
    copy ??= openCopy(sink).catch((error: unknown) => {
      copy = undefined;
      throw error;
    });
    return copy;
  };
  const close = async () => (await copy?.catch(() => undefined))?.close();
  return { open, close };
}

const planWriter = (folder: string) => async (json: string) => {
  await mkdir(folder, { recursive: true });
  const file = resolve(join(folder, `plan-${new Date().toISOString().slice(0, 10)}-${randomUUID().slice(0, 8)}.json`));
  await writeFile(file, json, { flag: "wx" });
  return file;
};

export const adviceFor = (outbox: string | undefined, flags: ConnectionFlags): ServerParts["advice"] => ({
  show: (key) => outboxCommandLine("show", outbox ?? "", key),
  resolve: (key, decision) => outboxCommandLine("resolve", outbox ?? "", key, decision),
  apply: (file) => commandLine("apply", file, ...connectionWords(flags)),
});
