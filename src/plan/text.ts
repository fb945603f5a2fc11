import { groupBy } from "../shared/group-by.js";
import { withoutControlCharacters } from "../shared/unknown.js";

interface PlanSections<Change, Blocked extends { reason: string }> {
  /** The counts of the first line, each with its sign. Changes are shown in the order of the names. */
  counts: readonly (readonly [sign: string, count: number, name: string])[];
  /** The rest of the first line. */
  about?: string;
  changes: readonly Change[];
  linesOfChange: (change: Change) => string[];
  blocked: readonly Blocked[];
  /** Returns the first line of a blocked item or group, without the reason, and its further lines. */
  linesOfBlocked: (blocked: Blocked) => string[];
  /** The text between the first line and the reason. */
  beforeReason: string;
  notes?: readonly string[];
}

/** Returns a plan for people, like a diff. `limit`: how many changes of each operation, and blocked items or groups. */
export function planText<Change extends { operation: string }, Blocked extends { reason: string }>(
  {
    counts,
    about = "",
    changes,
    linesOfChange,
    blocked,
    linesOfBlocked,
    beforeReason,
    notes = [],
  }: PlanSections<Change, Blocked>,
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
    blockedSection(blocked, limit, { linesOfBlocked, beforeReason }),
    ...notes,
  ];
  return sections.filter((text) => text !== "").join("\n\n");
}

/** Formats a number. From 10,000 on, spaces separate groups of three digits. */
const grouped = (count: number) => count.toLocaleString("en", { useGrouping: "min2" }).replaceAll(",", " ");

function section<T>(members: readonly T[], limit: number, linesOf: (member: T) => string[]): string {
  return linesOfSection(members.slice(0, limit).flatMap(linesOf), members.length - limit);
}

function linesOfSection(lines: readonly string[], hidden: number): string {
  const shown = lines.map(withoutControlCharacters);
  return [...shown, ...(hidden > 0 ? [`  … and ${grouped(hidden)} more`] : [])].join("\n");
}

/** Returns the blocked items or groups by reason. A reason that several share is shown once. */
function blockedSection<Blocked extends { reason: string }>(
  members: readonly Blocked[],
  limit: number,
  { linesOfBlocked: linesOf, beforeReason }: Pick<PlanSections<never, Blocked>, "linesOfBlocked" | "beforeReason">,
): string {
  const byReason = groupBy(members.slice(0, limit), ({ reason }) => reason);
  const lines = [...byReason].flatMap(([reason, blocked]) => {
    const [[first = "", ...more] = []] = blocked.map(linesOf);
    if (blocked.length === 1) return [`! ${first}${beforeReason}${reason}`, ...more];
    return [
      `! ${grouped(blocked.length)} blocked: ${reason}`,
      ...blocked.flatMap(linesOf).map((line) => `    ${line}`),
    ];
  });
  return linesOfSection(lines, members.length - limit);
}
