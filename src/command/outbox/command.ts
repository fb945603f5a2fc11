import { Argument, Command, Option } from "commander";
import type { InventoryClient } from "../../client/index.js";
import { OUTBOX_STATES } from "../../outbox/entry.js";
import { InputValidationError } from "../../shared/errors/index.js";
import { withClient, withConnection } from "../connection.js";
import { type OutboxUse, outboxStoreOf } from "../database.js";
import { CommandError, durationOption, failureOrInterruption, integerOption, interruptSignal } from "../exit.js";
import { type Action, type OutboxFlags, withOutbox } from "./action.js";
import { cancelEntries, pruneEntries, resolveEntry, runAndReport } from "./change.js";
import { listEntries, showEntry, summarize } from "./read.js";

interface ActionDefinition {
  use: Exclude<OutboxUse, "create">;
  /** The arguments behind its name, and how many of them. */
  words?: { name: string; min: number; max: number };
  /** Its own options; only `run` takes those of the connection. */
  options: readonly (keyof OutboxFlags)[];
  act(action: Action): Promise<void>;
}

const ACTIONS: Readonly<Record<string, ActionDefinition>> = {
  summary: { use: "read", options: ["maxAge", "json"], act: summarize },
  list: { use: "read", options: ["state", "item", "limit", "json"], act: listEntries },
  show: { use: "read", words: { name: "KEY", min: 1, max: 1 }, options: ["json"], act: showEntry },
  resolve: {
    use: "change",
    words: { name: "KEY applied|not-applied", min: 2, max: 2 },
    options: [],
    act: resolveEntry,
  },
  cancel: {
    use: "change",
    words: { name: "KEY...", min: 1, max: Number.POSITIVE_INFINITY },
    options: [],
    act: cancelEntries,
  },
  prune: { use: "change", options: ["olderThan"], act: pruneEntries },
  run: { use: "change", options: ["settle", "json"], act: runAndReport },
};

const HELP = `
Actions:
  summary                        count the entries by state
  list                           list entries, in the order added
  show KEY                       show one entry with what a person has to know
  resolve KEY applied            record that an unknown or rejected entry was
                                 applied, or not-applied: the next run sends it
  cancel KEY...                  drop entries that were not applied
  prune --older-than TIME        remove the contents of settled entries
  run                            send what is pending; needs the service

Exit code: 0, or 1 if a person has to look at something: an entry is unknown or
too old (summary), or is not settled (run), 2 if an argument is wrong; then
nothing is changed.`;

export function outboxCommand(): Command {
  const command = new Command("outbox")
    .description("look after the writes that an import, a plan or a program has stored")
    .argument("<file>", "SQLite file, or postgres://user@host/db; password in PGPASSWORD")
    .addArgument(new Argument("<action>", "what to do, see below").choices(Object.keys(ACTIONS)))
    .argument("[key...]", "keys of entries")
    .addOption(new Option("--state <name>", "list: only entries in this state").choices(OUTBOX_STATES))
    .option("--item <sku>", "list: only entries of this item")
    .option("--limit <n>", "list: at most this many (default: 100; all with --json)", integerOption(1))
    .option("--max-age <time>", "summary: fail if an entry waits for longer, for instance 26h", durationOption)
    .option("--older-than <time>", "prune: what was settled before, for instance 90d", durationOption)
    .option("--settle <time>", "run: as for import (default: 60s)", durationOption)
    .option("--json", "print JSON: summary, list, show, run")
    .addHelpText("after", HELP)
    .action(act);
  return withConnection(command);
}

async function act(file: string, name: string, words: string[], flags: OutboxFlags, command: Command): Promise<void> {
  const definition = ACTIONS[name];
  if (!definition) throw new TypeError(name);
  assertArguments(name, definition, words, command);
  const { settle: settleMs } = flags;
  const store = outboxStoreOf("the outbox", file, definition.use);
  const work = (client: InventoryClient | undefined, signal: AbortSignal) =>
    withOutbox({ client, store, settleMs }, (outbox) =>
      definition.act({ outbox, file, words, flags, signal }).catch(rethrowAsUsageError),
    );
  const advice = "run it again to continue";
  if (name === "run") return withClient(flags, work, advice);
  const signal = interruptSignal();
  await work(undefined, signal).catch((error: unknown) => {
    throw failureOrInterruption(error, signal, advice);
  });
}

function assertArguments(name: string, definition: ActionDefinition, words: readonly string[], command: Command): void {
  const { words: expected = { name: "", min: 0, max: 0 }, options } = definition;
  if (words.length < expected.min || words.length > expected.max)
    throw new CommandError(`Write: stocklot outbox FILE ${name} ${expected.name}`.trimEnd());
  const own = Object.values(ACTIONS).flatMap((other) => other.options);
  const wrong = command.options.find((option) => {
    const attribute = option.attributeName();
    if (command.getOptionValue(attribute) === undefined) return false;
    const isOwn = own.some((known) => known === attribute);
    return isOwn ? !options.some((known) => known === attribute) : name !== "run";
  });
  if (wrong) throw new CommandError(`${wrong.long} is not an option of outbox ${name}. See --help.`);
}

/** What the library refuses, in words of the command. */
function rethrowAsUsageError(error: unknown): never {
  if (!(error instanceof InputValidationError)) throw error;
  throw new CommandError(`${error.issues.map(({ message }) => message).join(" ")}. Nothing was changed.`);
}
