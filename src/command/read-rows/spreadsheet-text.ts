/*
 * Texts in a CSV file that a spreadsheet opens. `="0017"` is a text that it keeps; a text that begins like a formula gets an
 * apostrophe in front. Both are read back as they were.
 */

/** Matches texts that begin a formula in some spreadsheet. */
const FORMULA_PATTERN = /^'*[=+\-@\t\r]/;
const MARKED_PATTERN = /^'+[=+\-@\t\r]/;
const KEPT_PATTERN = /^="((?:[^"]|"")*)"$/s;

/** The most characters of a text in a formula. */
const MAX_KEPT_LENGTH = 255;

export const harmlessText = (text: string): string => (FORMULA_PATTERN.test(text) ? `'${text}` : text);

/** Returns a text in a form that a spreadsheet takes neither for a formula nor for a number or a date. */
export const keptText = (text: string): string =>
  text === "" || text.length > MAX_KEPT_LENGTH ? harmlessText(text) : `="${text.replaceAll('"', '""')}"`;

/** The text of a cell. */
export function textOfCell(cell: string): string {
  const kept = KEPT_PATTERN.exec(cell)?.[1];
  if (kept !== undefined) return kept.replaceAll('""', '"');
  return MARKED_PATTERN.test(cell) ? cell.slice(1) : cell;
}
