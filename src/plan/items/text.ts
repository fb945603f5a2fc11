import { planText } from "../text.js";
import type { ItemChange, ItemPlanContent } from "./document.js";

const SIGNS = { create: "+", update: "~", discontinue: "-" } as const;

/** The largest width of the column with old values. A longer old value moves the new value to the right. */
const MAX_COLUMN_WIDTH = 40;

export const itemPlanText = ({ counts, changes, blocked }: ItemPlanContent, limit: number): string =>
  planText({
    limit,
    counts: [
      ["+", counts.create, "create"],
      ["~", counts.update, "update"],
      ["-", counts.discontinue, "discontinue"],
      ["=", counts.unchanged, "unchanged"],
      ["!", counts.blocked, "blocked"],
    ],
    changes,
    linesOfChange: linesOfItemChange,
    blocked,
    linesOfBlocked: ({ shortID }) => [shortID],
    beforeReason: "  ",
  });

function linesOfItemChange({ operation, shortID, fields }: ItemChange): string[] {
  const head = `${SIGNS[operation]} ${shortID}`;
  const entries = Object.entries(fields);
  if (operation === "discontinue") return [`${head}  ${value(fields.description?.before ?? "")}`.trimEnd()];
  const nameWidth = Math.max(0, ...entries.map(([field]) => field.length));
  const beforeWidth = Math.min(MAX_COLUMN_WIDTH, Math.max(0, ...entries.map(([, { before }]) => value(before).length)));
  const line = ([field, { before, after }]: [string, ItemChange["fields"][string]]) =>
    operation === "create"
      ? `    ${field.padEnd(nameWidth)}  ${value(after)}`
      : `    ${field.padEnd(nameWidth)}  ${value(before).padEnd(beforeWidth)} → ${value(after)}`;
  return [head, ...entries.map(line)];
}

const value = (given: unknown): string => (given === null || given === undefined ? '""' : JSON.stringify(given));
