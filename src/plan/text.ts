import { withoutControlCharacters } from "../shared/unknown.js";

/** What is shown of a plan. */
interface Shown<Change, Blocked> {
  /** How many of what, each with its sign. Changes are shown in the order of these names. */
  counts: readonly (readonly [sign: string, count: number, name: string])[];
  /** What follows in that line. */
  about?: string;
  changes: readonly Change[];
  linesOfChange: (change: Change) => string[];
  blocked: readonly Blocked[];
  linesOfBlocked: (blocked: Blocked) => string[];
  notes?: readonly string[];
}

/** A plan for people, like a diff. `limit`: how many changes of each operation, and how many that are blocked. */
export function planText<Change extends { operation: string }, Blocked>(
  { counts, about = "", changes, linesOfChange, blocked, linesOfBlocked, notes = [] }: Shown<Change, Blocked>,
  limit: number,
): string {
  const sections = [
    counts.map(([sign, count, name]) => `${sign} ${grouped(count)} ${name}`).join("  ") + about,
    ...counts.map(([, , name]) =>
      section(
        changes.filter(({ operation }) => operation === name),
        limit,
        linesOfChange,
      ),
    ),
    section(blocked, limit, linesOfBlocked),
    ...notes,
  ];
  return sections.filter((text) => text !== "").join("\n\n");
}

/** Numbers in groups of three, from 10 000 on. */
const grouped = (count: number) => count.toLocaleString("en", { useGrouping: "min2" }).replaceAll(",", " ");

function section<T>(members: readonly T[], limit: number, linesOf: (member: T) => string[]): string {
  const shown = members.slice(0, limit).flatMap(linesOf).map(withoutControlCharacters);
  const hidden = members.length - Math.min(limit, members.length);
  return [...shown, ...(hidden > 0 ? [`  … and ${grouped(hidden)} more`] : [])].join("\n");
}
