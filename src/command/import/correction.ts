import { fieldOf } from "../../errors/unknown-value.js";
import type { NewLine } from "../../outbox/delivery-store.js";
import type { StoredEntry } from "../../outbox/index.js";
import { whyNotCanceled } from "../../outbox/store.js";
import { groupBy } from "../../plan/group-by.js";

const REPLACED_NAME = "ReplacedLine";

/** The error of an entry that a line of another import has replaced. */
export const REPLACED = JSON.stringify({ name: REPLACED_NAME, message: "A line of another import has replaced it." });

const isReplaced = ({ state, error }: StoredEntry): boolean =>
  state === "canceled" && fieldOf(JSON.parse(error ?? "null"), "name") === REPLACED_NAME;

/** What a corrected version of a delivery changes. */
export interface Correction {
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

/** Which of several equal lines the file contains, if it contains fewer: rather those that cannot be canceled. */
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
