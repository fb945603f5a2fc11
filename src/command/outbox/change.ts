import { type Outbox, parsed, type StoredEntry } from "../../outbox/for-rooms.js";
import type { OutboxEntry, OutboxReport, OutboxState } from "../../outbox/index.js";
import { fieldOf } from "../../shared/unknown.js";
import type { ConnectionFlags } from "../connection.js";
import { CommandError, EXIT } from "../exit.js";
import { keysAsTyped } from "../import/keys.js";
import { commandLine, outboxCommandLine, outboxWord } from "../shell.js";
import { plural, print, printable, printJson, seconds, table, tell, withProgress } from "../terminal.js";

export interface OutboxFlags extends ConnectionFlags {
  state?: OutboxState;
  item?: string;
  maxAge?: number;
  olderThan?: number;
  settle?: number;
  force?: true;
  json?: true;
}

export interface Action {
  outbox: Outbox;
  /** The file or address of the outbox, for messages. */
  file: string;
  /** The arguments behind the name of the action. */
  words: readonly string[];
  flags: OutboxFlags;
  signal: AbortSignal;
}

export async function resolveEntry({ outbox, file, words: [key = "", decision], flags }: Action): Promise<void> {
  if (decision !== "applied" && decision !== "not-applied")
    throw new CommandError(`the decision must be applied or not-applied, not ${printable(decision)}.`);
  const entry = await findEntry(outbox, file, key);
  if (entry.state === "rejected" && decision === "applied" && !flags.force)
    throw new CommandError(
      `the service refused "${printable(entry.key)}": ${reasonOf(parsed(entry.error))}\nSo nothing was booked. If the write was booked in another way, add --force. ` +
        `To drop the entry:\n  ${outboxCommandLine("cancel", file, entry.key)}`,
    );
  const resolved = await outbox.resolve(entry.key, decision);
  if (flags.json) return printJson(resolved);
  const { state } = resolved;
  await print(`${printable(entry.key)} is ${state}${state === "pending" ? " now: the next run sends it." : "."}`);
}

/** Why an entry is as it is, in one line. */
export function reasonOf(error: unknown): string {
  // The reason of an unknown entry comes without the advice, which is for the process that sent it.
  const message = fieldOf(error, "reason") ?? fieldOf(error, "message") ?? "";
  return printable(String(message).replace(/\s+/g, " "));
}

/** Drops entries, all of them or none. */
export async function cancelEntries({ outbox, file, words, flags }: Action): Promise<void> {
  const entries: StoredEntry[] = [];
  for (const key of words) entries.push(await findEntry(outbox, file, key));
  const keys = [...new Set(entries.map(({ key }) => key))];
  const problems = entries
    .filter(({ state }) => !["pending", "rejected", "canceled"].includes(state))
    .map(({ key, state }) => `"${printable(key)}" is ${state}, not rejected or pending.`);
  if (problems.length > 0) throw new CommandError(`${problems.join("\n")}\nNothing was canceled.`);
  const canceled: OutboxEntry[] = [];
  for (const key of keys) canceled.push(await outbox.cancel(key));
  if (flags.json) return printJson(canceled);
  await print(`${plural(keys.length, "entry", "entries")} canceled.`);
}

export async function pruneEntries({ outbox, flags: { olderThan = 0, json } }: Action): Promise<void> {
  const pruned = await outbox.prune({ olderThanMs: olderThan });
  if (json) return printJson({ pruned });
  await print(`The contents of ${plural(pruned, "entry", "entries")} removed; the keys stay.`);
}

/**
 * The entry with a key. The names and values in keys of an import are percent-encoded; people may type them as they are.
 *
 * @throws CommandError if there is none, or if the key may be one of several.
 */
export async function findEntry(outbox: Outbox, file: string, key: string): Promise<StoredEntry> {
  const found = await outbox.read((store) => store.getMany(keysAsTyped(key).map((typed) => ({ key: typed }))));
  const exact = found.get(key);
  const [entry, ...others] = exact ? [exact] : found.values();
  if (entry && others.length === 0) return entry;
  if (entry) {
    const keys = [...found.keys()].map((one) => `"${printable(one)}"`).join(", ");
    throw new CommandError(`"${printable(key)}" may mean one of ${keys}. Give the key exactly as the outbox lists it.`);
  }
  throw new CommandError(
    `there is no entry "${printable(key)}". List them: ${commandLine("outbox", "list", outboxWord(file))}`,
  );
}

export function runWithProgress(
  outbox: Outbox,
  signal: AbortSignal,
  onResult?: (entry: OutboxEntry) => void,
): Promise<OutboxReport> {
  return withProgress((progress) => {
    signal.addEventListener("abort", () => {
      tell("Waiting for requests under way; Ctrl-C again ends at once.");
    });
    return outbox.run({
      signal,
      onResult,
      onProgress: ({ applied, rejected, unknown, pending }) =>
        progress(`${applied} applied, ${rejected} rejected, ${unknown} unknown, ${pending} pending`),
    });
  });
}

/** The action `run`: for instance after a decision about an unknown entry. */
export async function runAndReport({ outbox, file, flags, signal }: Action): Promise<void> {
  const report = await runWithProgress(outbox, signal);
  const { applied, rejected, unknown, pending, requests, durationMs } = report;
  process.exitCode = rejected + unknown + pending > 0 ? EXIT.failure : EXIT.success;
  if (flags.json) return printJson(report);
  await print(table(["applied", "rejected", "unknown", "pending"], [[applied, rejected, unknown, pending]]));
  await print(`${plural(requests, "request")}, ${seconds(durationMs)}`);
  for (const [state, count] of Object.entries({ rejected, unknown }))
    if (count > 0)
      tell(`Entries that are ${state}: ${commandLine("outbox", "list", outboxWord(file), "--state", state)}`);
}
