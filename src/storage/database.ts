/** A value of a command. */
export type SqlValue = string | number | null;

/** By column name. PostgreSQL returns numbers as strings. */
export type SqlRow = Readonly<Record<string, unknown>>;

/** Runs one command. `$1`, `$2` … in it are its values, each in one place. */
export type Query = (sql: string, values?: readonly SqlValue[]) => Promise<SqlRow[]>;

/**
 * SQLite or PostgreSQL. Commands are written once, in the SQL that both understand: `RETURNING`, `ON CONFLICT`, rows of
 * `VALUES`, lists of placeholders. What differs is decided by `kind`.
 */
export interface SqlDatabase {
  readonly kind: "sqlite" | "postgres";
  /**
   * Runs commands in one transaction that is on disk when it resolves. With SQLite, it excludes all others.
   *
   * @param work Called again if the transaction has to be retried. It must await nothing but its commands.
   * @param timeoutMs How long one command may take on a server, in ms; a minute unless stated.
   */
  transaction<T>(work: (query: Query) => Promise<T>, timeoutMs?: number): Promise<T>;
  /** Closes files and connections. */
  close(): Promise<void>;
}

/** `$1, $2, …`: placeholders of a list, or of a row. */
export const placeholders = (count: number, from = 1): string =>
  Array.from({ length: count }, (_, index) => `$${from + index}`).join(", ");

/** A quoted SQL identifier: the database does not fold its letter case. */
export const quoteName = (name: string) => `"${name.replaceAll('"', '""')}"`;
