import { isDateFilter, parseTime } from "../dates.js";
import type { JsonObject } from "./body.js";
import { type Details, validationError } from "./service-error.js";

interface Kinds {
  text: string;
  integer: number;
  decimal: number;
  datetime: string;
  dateFilter: string;
  boolean: boolean;
}

interface FieldRule {
  readonly kind: keyof Kinds;
  readonly required?: true;
  /** The number must be greater than 0. */
  readonly positive?: true;
  /** Empty text counts as left out. */
  readonly blankIsNone?: true;
  /** Another name that the field can be sent under; when both are sent, its own counts. */
  readonly alias?: string;
}

/** The fields of a request body, as the document's tables give them. */
export type Model = Readonly<Record<string, FieldRule>>;

/** What a body that fits the model holds. */
export type Fields<M extends Model> = {
  [Name in keyof M]: Kinds[M[Name]["kind"]] | (M[Name] extends { required: true } ? never : undefined);
};

/**
 * The fields of the model, checked; others are ignored, and null counts as left out. Throws the validation error with
 * a message for each field that is missing or wrong.
 */
export function readModel<M extends Model>(body: JsonObject, model: M): Fields<M>;
export function readModel(body: JsonObject, model: Model): Record<string, unknown> {
  const fields: Record<string, unknown> = {};
  const details: Details = {};
  for (const [name, rule] of Object.entries(model)) {
    const { sentAs, value } = sent(body, name, rule);
    const problem = problemWith(sentAs, value, rule);
    if (problem) details[sentAs] = [problem];
    else fields[name] = value;
  }
  if (Object.keys(details).length > 0) throw validationError(details);
  return fields;
}

/** The value, and the name that it was sent under; undefined when it counts as left out. */
function sent(body: JsonObject, name: string, { alias, blankIsNone }: FieldRule): { sentAs: string; value: unknown } {
  for (const sentAs of alias === undefined ? [name] : [name, alias]) {
    const value = Object.hasOwn(body, sentAs) ? (body[sentAs] ?? undefined) : undefined;
    if (value !== undefined && !(blankIsNone && isBlank(value))) return { sentAs, value };
  }
  return { sentAs: name, value: undefined };
}

function isBlank(value: unknown): boolean {
  return typeof value === "string" && value.trim() === "";
}

function problemWith(name: string, value: unknown, { kind, required, positive }: FieldRule): string | undefined {
  if (value === undefined || (required && isBlank(value))) {
    return required && `The ${name} field is required.`;
  }
  if (!FITS[kind](value)) return `The field ${name} must be ${NOUNS[kind]}.`;
  if (positive && typeof value === "number" && value <= 0) return `The field ${name} must be greater than 0.`;
  return undefined;
}

const FITS: Readonly<Record<keyof Kinds, (value: unknown) => boolean>> = {
  text: (value) => typeof value === "string",
  integer: (value) => Number.isSafeInteger(value),
  decimal: (value) => Number.isFinite(value),
  datetime: (value) => typeof value === "string" && parseTime(value) !== undefined,
  dateFilter: (value) => typeof value === "string" && isDateFilter(value),
  boolean: (value) => typeof value === "boolean",
};

const NOUNS: Readonly<Record<keyof Kinds, string>> = {
  text: "text",
  integer: "a whole number",
  decimal: "a number",
  datetime: "a datetime (ISO 8601)",
  dateFilter: "a date or the beginning of one (ISO 8601)",
  boolean: "true or false",
};
