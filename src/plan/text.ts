import { withoutControlCharacters } from "../errors/unknown-value.js";
import type { FieldChange, ItemChange, PlanContent } from "./document.js";

const SIGNS = { create: "+", update: "~", discontinue: "-" } as const;
const COLUMN_WIDTH = 60;

/** Numbers in groups of three, from 10 000 on. */
const grouped = (count: number) => (count < 10_000 ? String(count) : String(count).replace(/\B(?=(\d{3})+$)/g, " "));

/** The first line: how many of what. */
export const countsLine = ({ counts }: Pick<PlanContent, "counts">): string =>
  [
    `+ ${grouped(counts.create)} create`,
    `~ ${grouped(counts.update)} update`,
    `- ${grouped(counts.discontinue)} discontinue`,
    `= ${grouped(counts.unchanged)} unchanged`,
    `! ${grouped(counts.blocked)} blocked`,
  ].join("  ");

/** A plan for people, like a diff. `limit`: how many items of each group. */
export function planText(plan: PlanContent, limit: number): string {
  const groups = (["create", "update", "discontinue"] as const).map((operation) => {
    const changes = plan.changes.filter((change) => change.operation === operation);
    return group(changes, limit, linesOfChange);
  });
  const blocked = group(plan.blocked, limit, ({ shortID, reason }) => [
    `! ${withoutControlCharacters(shortID)}  ${withoutControlCharacters(reason)}`,
  ]);
  return [countsLine(plan), ...groups, blocked].filter((text) => text !== "").join("\n\n");
}

function group<T>(members: readonly T[], limit: number, linesOf: (member: T) => string[]): string {
  const shown = members.slice(0, limit).flatMap(linesOf);
  const hidden = members.length - Math.min(limit, members.length);
  return [...shown, ...(hidden > 0 ? [`  … and ${grouped(hidden)} more`] : [])].join("\n");
}

function linesOfChange({ operation, shortID, fields }: ItemChange): string[] {
  const head = `${SIGNS[operation]} ${withoutControlCharacters(shortID)}`;
  const entries = Object.entries(fields);
  if (operation === "discontinue") return [`${head}  ${value(fields.description?.before ?? "")}`.trimEnd()];
  const nameWidth = Math.max(0, ...entries.map(([field]) => field.length));
  const beforeWidth = Math.max(0, ...entries.map(([, { before }]) => value(before).length));
  const line = ([field, { before, after }]: [string, FieldChange]) =>
    operation === "create"
      ? `    ${field.padEnd(nameWidth)}  ${value(after)}`
      : `    ${field.padEnd(nameWidth)}  ${value(before).padEnd(beforeWidth)} → ${value(after)}`;
  return [head, ...entries.map(line)];
}

function value(given: unknown): string {
  const text = withoutControlCharacters(given === null || given === undefined ? '""' : JSON.stringify(given));
  return text.length > COLUMN_WIDTH ? `${text.slice(0, COLUMN_WIDTH - 1)}…` : text;
}
