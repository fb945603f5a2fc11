import { Command, Option } from "commander";
import type { InventoryClient } from "../../client/index.js";
import { OUTBOX_STATES } from "../../outbox/entry.js";
import { InputValidationError } from "../../shared/errors/index.js";
import { withClient, withConnection } from "../connection.js";
import { type OutboxUse, outboxStoreOf } from "../database.js";
import { CommandError, durationOption, failureOrInterruption, integerOption, interruptSignal } from "../exit.js";
import { withHelp } from "../help.js";
import { type Action, type OutboxFlags, withOutbox } from "./action.js";
import { cancelEntries, pruneEntries, resolveEntry, runAndReport } from "./change.js";
import { listEntries, showEntry, summarize } from "./read.js";

const UNCHANGED = { 2: "wrong use; nothing was changed" };

export function outboxCommand(): Command {
  const command = new Command("outbox").description(
    "look after the writes that an import, a count or a program has stored",
  );
  const json = new Option("--json", "print JSON");
  const summary = actionCommand("summary", "count the entries by state", "read", summarize)
    .option("--max-age <time>", "fail if an entry waits for longer, for instance 26h", durationOption)
    .addOption(json);
  const list = actionCommand("list", "list entries with their reasons, in the order added", "read", listEntries)
    .addOption(new Option("--state <name>", "only entries in this state").choices(OUTBOX_STATES))
    .option("--item <sku>", "only entries of this item")
    .option("--limit <n>", "at most this many (default: 100; all with --json)", integerOption(1))
    .addOption(json);
  const show = actionCommand("show", "show an entry with what a person has to know", "read", showEntry, "<key>");
  const resolution = "record that an unknown or rejected entry was applied, or not-applied: the next run sends it";
  const resolve = actionCommand("resolve", resolution, "change", resolveEntry, "<key>", "<decision>");
  const cancel = actionCommand("cancel", "drop entries that were not applied", "change", cancelEntries, "<key...>");
  const prune = actionCommand("prune", "remove the contents of settled entries", "change", pruneEntries).requiredOption(
    "--older-than <time>",
    "what was settled before, for instance 90d",
    durationOption,
  );
  const run = actionCommand("run", "send what is pending; needs the service", "change", runAndReport)
    .option("--settle <time>", "as for import (default: 60s)", durationOption)
    .addOption(json);
  return command
    .addCommand(
      withHelp(summary, { 1: "an entry is unknown, or too old" }, "stocklot outbox summary o.db --max-age 26h"),
    )
    .addCommand(withHelp(list, {}, "stocklot outbox list outbox.db --state rejected"))
    .addCommand(withHelp(show.addOption(json), {}, "stocklot outbox show outbox.db day.csv:7"))
    .addCommand(withHelp(resolve, UNCHANGED, "stocklot outbox resolve outbox.db day.csv:7 applied"))
    .addCommand(withHelp(cancel, UNCHANGED, "stocklot outbox cancel outbox.db day.csv:7 day.csv:8"))
    .addCommand(withHelp(prune, UNCHANGED, "stocklot outbox prune outbox.db --older-than 90d"))
    .addCommand(withHelp(withConnection(run), { 1: "an entry is not applied" }, "stocklot outbox run outbox.db"));
}

/** `stocklot outbox NAME FILE …`. Only `run` connects to the service. */
function actionCommand(
  name: string,
  description: string,
  use: Exclude<OutboxUse, "create">,
  act: (action: Action) => Promise<void>,
  ...words: string[]
): Command {
  const command = new Command(name).description(description);
  command.argument("<file>", "SQLite file, or postgres://user@host/db; password in PGPASSWORD");
  for (const word of words) command.argument(word);
  return command.action(async (file: string, ...given: unknown[]) => {
    const flags: OutboxFlags = command.opts();
    const keys = given.slice(0, words.length).flat().map(String);
    const store = outboxStoreOf("the outbox", file, use);
    const work = (client: InventoryClient | undefined, signal: AbortSignal) =>
      withOutbox({ client, store, settleMs: flags.settle }, (outbox) =>
        act({ outbox, file, words: keys, flags, signal }).catch(rethrowAsUsageError),
      );
    const advice = "run it again to continue";
    if (name === "run") return withClient(flags, work, advice);
    const signal = interruptSignal();
    await work(undefined, signal).catch((error: unknown) => {
      throw failureOrInterruption(error, signal, advice);
    });
  });
}

/** What the library refuses, as wrong use. */
function rethrowAsUsageError(error: unknown): never {
  if (!(error instanceof InputValidationError)) throw error;
  throw new CommandError(`${error.issues.map(({ message }) => message).join(" ")}. Nothing was changed.`);
}
