import { InputValidationError } from "../shared/errors/index.js";
import { valueThat } from "../shared/option.js";

const ISO_8601_PATTERN = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:?\d{2})?)?$/i;
const TIME_WITHOUT_OFFSET_PATTERN = /T[^Z+-]*$/i;

/** Whether a string is an ISO 8601 date or datetime of a day that exists. `Date` reads 30 February as 2 March. */
function isIsoDate(value: string): boolean {
  if (!ISO_8601_PATTERN.test(value) || Number.isNaN(Date.parse(value))) return false;
  const day = value.slice(0, 10);
  return new Date(`${day}T00:00:00Z`).toISOString().startsWith(day);
}

/**
 * Converts a datetime of the service to a `Date`. The service writes ISO 8601; a missing offset is read as UTC.
 *
 * @example
 * import { parseServiceDate } from "stocklot";
 *
 * const { modified } = await client.items.get("BOLT-M8");
 * const ageMs = Date.now() - parseServiceDate(modified).getTime();
 * @throws InputValidationError if the string is not an ISO 8601 date or datetime.
 */
export function parseServiceDate(datetime: string): Date {
  if (!isIsoDate(datetime)) {
    throw new InputValidationError("parseServiceDate", [
      { path: [], message: `must be an ISO 8601 date or datetime, not "${datetime}"` },
    ]);
  }
  return new Date(TIME_WITHOUT_OFFSET_PATTERN.test(datetime) ? `${datetime}Z` : datetime);
}

/** Converts a datetime of a record to ms since the epoch. A record that was not validated may lack it: `undefined`. */
export const serviceTimeMs = (datetime: unknown): number | undefined =>
  typeof datetime === "string" && isIsoDate(datetime) ? parseServiceDate(datetime).getTime() : undefined;

const dateOrIsoStringSchema = () =>
  valueThat<Date | string>(
    (value) => (value instanceof Date ? !Number.isNaN(value.getTime()) : typeof value === "string" && isIsoDate(value)),
    "must be a valid Date or an ISO 8601 string",
  );

/** A time as an argument: a `Date`, or an ISO 8601 string, which is sent as it is. */
export const dateInputSchema = () => dateOrIsoStringSchema().meta({ type: "string", format: "date-time" });

/** The same as {@link dateInputSchema}, for a field that the document describes only as a string. */
export const dateFilterSchema = () => dateOrIsoStringSchema().meta({ type: "string" });
