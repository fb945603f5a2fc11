import { withoutControlCharacters } from "../shared/unknown.js";

/** Numbers in groups of three, from 10 000 on. */
const grouped = (count: number) => (count < 10_000 ? String(count) : String(count).replace(/\B(?=(\d{3})+$)/g, " "));

/** The first line: how many of what, each with its sign. */
export const countsLine = (counts: readonly (readonly [sign: string, count: number, name: string])[]): string =>
  counts.map(([sign, count, name]) => `${sign} ${grouped(count)} ${name}`).join("  ");

/** The lines of some members, at most `limit` of them. */
export function section<T>(members: readonly T[], limit: number, linesOf: (member: T) => string[]): string {
  const shown = members.slice(0, limit).flatMap(linesOf).map(withoutControlCharacters);
  const hidden = members.length - Math.min(limit, members.length);
  return [...shown, ...(hidden > 0 ? [`  … and ${grouped(hidden)} more`] : [])].join("\n");
}

export const joinSections = (sections: readonly string[]): string =>
  sections.filter((text) => text !== "").join("\n\n");
