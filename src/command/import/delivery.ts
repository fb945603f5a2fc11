import { basename } from "node:path";
import {
  isComplete,
  isInTheWay,
  type NewDelivery,
  type NewLine,
  type StoredDelivery,
} from "../../outbox/delivery-store.js";
import type { StoredEntry } from "../../outbox/index.js";
import { unsettledOf, whyNotCanceled } from "../../outbox/store.js";
import { groupBy } from "../../plan/group-by.js";
import { fieldOf } from "../../shared/unknown.js";
import { outboxCommandLine, shellWord } from "../shell.js";
import { dateTime } from "../terminal.js";
import type { ImportSettings } from "./lines.js";

/*
 * A delivery is a name, by default that of its file, and a digest of its writes: the operation and the input of each line,
 * in order. It is recorded together with its lines, in one transaction. It is complete when each line is
 * settled: applied, rejected or canceled.
 *
 *   recorded under this name   --corrects   another in the way   what happens
 *   nothing                    no           no                   begin: the lines are stored and sent
 *   nothing                    no           yes                  refused: the other one has to be finished first
 *   nothing                    yes          any                  refused: there is nothing to correct
 *   these writes, incomplete   any          any                  continue: what is stored is sent
 *   these writes, complete     any          any                  complete: nothing is sent
 *   other writes               no           any                  refused: another delivery, or a corrected one?
 *   other writes               yes          no                   correct: the difference is stored and sent
 *   other writes               yes          yes                  refused: the other one has to be finished first
 *
 * In the way is another delivery that is incomplete and has the same file name or the same writes: after a crash,
 * yesterday's file may lie there again under the name of today.
 */
type Decision =
  | { kind: "begin" }
  | { kind: "continue" | "complete" | "correct"; recorded: StoredDelivery }
  | { kind: "refused"; because: "other-contents" | "in-the-way"; other: StoredDelivery }
  | { kind: "refused"; because: "nothing-to-correct" };

/**
 * Decides about a delivery by what is recorded under its name, and by others that may be in the way.
 *
 * @param related the deliveries that have the name, the file name or the writes of this one
 */
export function decide(delivery: NewDelivery, related: readonly StoredDelivery[], corrects: boolean): Decision {
  const recorded = related.find(({ name }) => name === delivery.name);
  if (!recorded && corrects) return { kind: "refused", because: "nothing-to-correct" };
  if (recorded?.digest === delivery.digest) return { kind: isComplete(recorded) ? "complete" : "continue", recorded };
  if (recorded && !corrects) return { kind: "refused", because: "other-contents", other: recorded };
  const other = related.find((one) => isInTheWay(one, delivery));
  if (other) return { kind: "refused", because: "in-the-way", other };
  return recorded ? { kind: "correct", recorded } : { kind: "begin" };
}

/** The delivery that a file is; `undefined` if its lines are identified by a column of keys alone. */
export function deliveryOf(settings: ImportSettings, digest: string, lines: number): NewDelivery | undefined {
  const { path, deliveryName: name, isStandardInput } = settings;
  if (name === undefined) return undefined;
  // What arrives in a pipe has no file name that others could share.
  const file = isStandardInput ? name : basename(path);
  return { name, file, digest, lines, begunAt: Date.now() };
}

/** Why a delivery is refused, with what a person can do. */
export function whyRefused(
  decision: Extract<Decision, { kind: "refused" }>,
  { name, file, lines }: NewDelivery,
  outboxFile: string,
): string {
  if (decision.because === "nothing-to-correct")
    return `--corrects: there is no delivery "${name}". Nothing was stored or sent. ${outboxCommandLine(outboxFile, "deliveries")} lists them.`;
  const { other } = decision;
  const begun = dateTime(other.begunAt);
  if (decision.because === "other-contents") {
    const isInTheWayOfAnotherName = !isComplete(other) && other.file === file;
    const first = isInTheWayOfAnotherName ? "finish that one first, then " : "";
    // A corrected file looks like the next one: a person has to decide.
    return (
      `"${name}" was imported ${begun} with other contents (${other.lines} lines then, ${lines} now). ` +
      `Nothing was stored or sent. If this is another delivery, ${first}give it a name of its own with --delivery. ` +
      "If it is a corrected version of the same one, add --corrects."
    );
  }
  const same = other.file === file ? `of the same file name, "${file}"` : "with the same contents";
  const advice = other.entries.unknown
    ? ` Decide about its unknown lines: ${outboxCommandLine(outboxFile, "list", "--delivery", other.name, "--state", "unknown")}`
    : "";
  return (
    `the delivery "${other.name}" ${same}, begun ${begun}, is not complete: ` +
    `${unsettledOf(other.entries)} of ${other.lines} lines are not settled. Nothing was stored or sent. ` +
    `Finish it first: import its file again with --delivery ${shellWord(other.name)}.${advice}`
  );
}

const REPLACED_NAME = "ReplacedLine";

/** The error of an entry that a line of another import has replaced. */
export const REPLACED = JSON.stringify({ name: REPLACED_NAME, message: "A line of another import has replaced it." });

const isReplaced = ({ state, error }: StoredEntry): boolean =>
  state === "canceled" && fieldOf(JSON.parse(error ?? "null"), "name") === REPLACED_NAME;

/** What a corrected version of a delivery changes. */
interface Correction {
  /** Earlier lines that lines of other imports have replaced: the file would book them again. */
  takenElsewhere: StoredEntry[];
  /** Earlier lines that are in the file, too. */
  kept: StoredEntry[];
  /** Earlier lines that may have been applied, and that the file lacks: it does not correct that delivery. */
  missingSent: StoredEntry[];
  /** Earlier lines that were not applied, and that the file lacks. */
  toCancel: StoredEntry[];
  /** Lines that are not among the earlier ones, with keys that none of these has. */
  added: NewLine[];
}

/**
 * Which of several equal lines the file contains, if it contains fewer: first those that cannot be canceled, then pending
 * ones, since these are still sent. A rejected one that is kept stays rejected.
 */
const rankOf = (entry: StoredEntry) => {
  if (whyNotCanceled(entry) !== undefined) return 0;
  return entry.state === "pending" ? 1 : 2;
};

/** Compares the lines of a file with those of an earlier version: by contents, each as often as it occurs. */
export function correctionOf(earlier: readonly StoredEntry[], lines: readonly NewLine[]): Correction {
  const uncanceled = earlier.filter(({ state }) => state !== "canceled");
  // The last of each group is taken first.
  const ranked = uncanceled.sort((one, other) => rankOf(other) - rankOf(one) || other.sequence - one.sequence);
  const left = groupBy(ranked, ({ inputHash }) => inputHash);
  const kept: StoredEntry[] = [];
  const added: NewLine[] = [];
  const keys = new Set(earlier.map(({ key }) => key));
  for (const line of lines) {
    const entry = left.get(line.inputHash)?.pop();
    if (entry) kept.push(entry);
    else added.push({ ...line, key: freeKey(line.key, keys) });
  }
  const dropped = [...left.values()].flat().sort((one, other) => one.sequence - other.sequence);
  return {
    takenElsewhere: earlier.filter(isReplaced),
    kept,
    missingSent: dropped.filter((entry) => whyNotCanceled(entry) !== undefined),
    toCancel: dropped.filter((entry) => whyNotCanceled(entry) === undefined),
    added,
  };
}

/** The key, or with a number if an earlier line has it. */
function freeKey(key: string, keys: Set<string>): string {
  let free = key;
  for (let version = 2; keys.has(free); version += 1) free = `${key}#${version}`;
  keys.add(free);
  return free;
}
