/** A quoted SQL identifier: the database does not fold its letter case. */
export const quoteName = (name: string) => `"${name.replaceAll('"', '""')}"`;
