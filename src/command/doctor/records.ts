import { fieldOf } from "../../errors/unknown-value.js";
import { dateInputSchema } from "../../schemas/date.js";
import type { DocumentedList } from "../../service/lists.js";
import { plural } from "../terminal.js";
import { type Finding, note, problem } from "./finding.js";
import type { ProbedPage } from "./service-probe.js";

/** The fields that the document describes as datetimes. */
const DATE_FIELDS: Readonly<Record<DocumentedList["name"], readonly string[]>> = {
  items: ["created", "modified"],
  lots: ["received", "shipped"],
  stockLevels: [],
};

const MAX_QUOTED_LENGTH = 40;

/** Schemas accept any string as a date, since the document names only ISO 8601. */
export function dateFindings(lists: readonly { list: DocumentedList; first: ProbedPage | undefined }[]): Finding[] {
  const isDate = (value: unknown) => dateInputSchema().safeParse(value).success;
  const places = lists.flatMap(({ list: { name, path }, first }) =>
    DATE_FIELDS[name].flatMap((field) => {
      const values = (first?.page?.value ?? []).map((record) => fieldOf(record, field));
      const wrong = values.filter((value) => typeof value === "string" && !isDate(value));
      const example = JSON.stringify(String(wrong[0]).slice(0, MAX_QUOTED_LENGTH));
      return wrong.length === 0 ? [] : [`${field} of GET ${path} (${example}, in ${plural(wrong.length, "record")})`];
    }),
  );
  if (places.length === 0) return [];
  const hint =
    "parseServiceDate rejects them, and a receipt whose response was lost is not recognised by its time. Ask the operators to correct them.";
  return [problem("dates", `not ISO 8601: ${places.join(", ")}`, hint)];
}

/** Records of one key on one page. */
export function duplicateFindings(name: string, path: string, key: string, records: readonly object[]): Finding[] {
  const seen = new Map<unknown, object>();
  for (const record of records) {
    const value = fieldOf(record, key);
    const other = seen.get(value);
    if (value === undefined || other === undefined) {
      seen.set(value, record);
      continue;
    }
    const summary = `GET ${path}: ${key} ${JSON.stringify(value)} is twice on page 1`;
    return JSON.stringify(other) === JSON.stringify(record)
      ? [note(name, summary, "Lists, exports and mirrors contain the record once.")]
      : [
          problem(
            name,
            `${summary}, with different values`,
            "Only one of them is listed. Ask the operators to correct it.",
          ),
        ];
  }
  return [];
}
