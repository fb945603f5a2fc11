import { groupBy } from "../shared/group-by.js";
import { withoutControlCharacters } from "../shared/unknown.js";

interface PlanSections<Change, Blocked> {
  /** How many changes of each operation, and blocked items or groups, are shown. */
  limit: number;
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

/** Returns a plan for people, like a diff. */
export function planText<Change extends { operation: string }, Blocked extends { reason: string }>(
  plan: PlanSections<Change, Blocked>,
): string {
  const { counts, about = "", changes, linesOfChange, limit, notes = [] } = plan;
  const sectionOf = (name: string) => {
    const members = changes.filter(({ operation }) => operation === name);
    return linesOfSection(members.slice(0, limit).flatMap(linesOfChange), members.length - limit);
  };
  const sections = [
    counts.map(([sign, count, name]) => `${sign} ${grouped(count)} ${name}`).join("  ") + about,
    ...counts.map(([, , name]) => sectionOf(name)),
    blockedSection(plan),
    ...notes,
  ];
  return sections.filter((text) => text !== "").join("\n\n");
}

/** Formats a number. From 10,000 on, spaces separate groups of three digits. */
const grouped = (count: number) => count.toLocaleString("en", { useGrouping: "min2" }).replaceAll(",", " ");

function linesOfSection(lines: readonly string[], hidden: number): string {
  const shown = lines.map(withoutControlCharacters);
  return [...shown, ...(hidden > 0 ? [`  … and ${grouped(hidden)} more`] : [])].join("\n");
}

/** Returns the blocked items or groups by reason. A reason that several share is shown once. */
function blockedSection<Change, Blocked extends { reason: string }>(plan: PlanSections<Change, Blocked>): string {
  const { blocked, limit, linesOfBlocked, beforeReason } = plan;
  const byReason = groupBy(blocked.slice(0, limit), ({ reason }) => reason);
  const lines = [...byReason].flatMap(([reason, members]) => {
    const [[first = "", ...more] = []] = members.map(linesOfBlocked);
    if (members.length === 1) return [`! ${first}${beforeReason}${reason}`, ...more];
    return [
      `! ${grouped(members.length)} blocked: ${reason}`,
      ...members.flatMap(linesOfBlocked).map((line) => `    ${line}`),
    ];
  });
  return linesOfSection(lines, blocked.length - limit);
}
