import { InputValidationError, type Issue } from "../shared/errors/index.js";
import { untilAborted } from "../shared/time/wait.js";
import { isObject } from "../shared/unknown.js";

const isIterable = (value: unknown) => isObject(value) && (Symbol.iterator in value || Symbol.asyncIterator in value);

/**
 * Reads all rows of a source. `read` gets a copy of each row, without fields that are `null` or `undefined`. It adds or
 * throws the issues of the row. `finish` adds issues that concern several rows. Throws one `InputValidationError` with
 * all issues, also if there is no row. They name the `method`, and its `option` with the rows.
 */
export async function readRows(
  { method, option, signal }: { method: string; option: string; signal: AbortSignal | null | undefined },
  source: Iterable<unknown> | AsyncIterable<unknown>,
  read: (row: unknown, index: number, issues: Issue[]) => void,
  finish: (issues: Issue[]) => void = () => {},
): Promise<void> {
  const problem = (message: string) => new InputValidationError(method, [{ path: [option], message }]);
  if (!isIterable(source)) {
    throw problem(`must be an array or an iterable of rows, not ${source === null ? "null" : `a ${typeof source}`}`);
  }
  const issues: Issue[] = [];
  let count = 0;
  // An array is copied first: the caller may change it while the service is read.
  const given = Array.isArray(source) ? source.map(withoutMissingFields) : source;
  const readAll = async () => {
    for await (const row of given) {
      signal?.throwIfAborted();
      try {
        read(withoutMissingFields(row), count, issues);
      } catch (error) {
        if (!(error instanceof InputValidationError)) throw error;
        issues.push(...error.issues);
      }
      count += 1;
    }
  };
  // A source may hang: the signal also ends the wait for the next row.
  await (signal ? untilAborted(signal, readAll()) : readAll());
  if (count === 0) throw problem("must contain a row: an empty source is probably a mistake");
  finish(issues);
  if (issues.length > 0) throw new InputValidationError(method, issues);
}

const withoutMissingFields = (row: unknown) =>
  isObject(row) ? Object.fromEntries(Object.entries(row).filter(([, value]) => value != null)) : row;
