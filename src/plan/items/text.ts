import { countsLine, joinSections, section } from "../text.js";
import type { FieldChange, ItemChange, ItemPlanContent } from "./document.js";

const SIGNS = { create: "+", update: "~", discontinue: "-" } as const;

/** Longer values push the next column to the right. */
const MAX_COLUMN_WIDTH = 40;

/** A plan of items for people, like a diff. `limit`: how many items of each group. */
export function itemPlanText({ counts, changes, blocked }: ItemPlanContent, limit: number): string {
  return joinSections([
    countsLine([
      ["+", counts.create, "create"],
      ["~", counts.update, "update"],
      ["-", counts.discontinue, "discontinue"],
      ["=", counts.unchanged, "unchanged"],
      ["!", counts.blocked, "blocked"],
    ]),
    ...(["create", "update", "discontinue"] as const).map((operation) =>
      section(
        changes.filter((change) => change.operation === operation),
        limit,
        linesOfChange,
      ),
    ),
    section(blocked, limit, ({ shortID, reason }) => [`! ${shortID}  ${reason}`]),
  ]);
}

function linesOfChange({ operation, shortID, fields }: ItemChange): string[] {
  const head = `${SIGNS[operation]} ${shortID}`;
  const entries = Object.entries(fields);
  if (operation === "discontinue") return [`${head}  ${value(fields.description?.before ?? "")}`.trimEnd()];
  const nameWidth = Math.max(0, ...entries.map(([field]) => field.length));
  const beforeWidth = Math.min(MAX_COLUMN_WIDTH, Math.max(0, ...entries.map(([, { before }]) => value(before).length)));
  const line = ([field, { before, after }]: [string, FieldChange]) =>
    operation === "create"
      ? `    ${field.padEnd(nameWidth)}  ${value(after)}`
      : `    ${field.padEnd(nameWidth)}  ${value(before).padEnd(beforeWidth)} → ${value(after)}`;
  return [head, ...entries.map(line)];
}

const value = (given: unknown): string => (given === null || given === undefined ? '""' : JSON.stringify(given));
