import { ConfigurationError } from "../shared/errors/index.js";

/**
 * The steps that tables still need. Step 1 leads from nothing to version 1, and so on; the version is stored with the tables.
 *
 * @throws ConfigurationError when a later version of the package has created the tables.
 */
export function missingSteps<Step>(steps: readonly Step[], version: number, location: string): readonly Step[] {
  if (version <= steps.length) return steps.slice(version);
  throw new ConfigurationError(
    `${location}: the tables have version ${version}, and this version of stocklot knows ${steps.length}. Update stocklot.`,
  );
}

/** A quoted SQL identifier: the database does not fold its letter case. */
export const quoteName = (name: string) => `"${name.replaceAll('"', '""')}"`;
