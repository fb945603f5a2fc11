/** Throws a `TypeError` when two records have the same value in the field; those that have none do not count. */
export function assertUnique<Name extends string>(
  option: string,
  field: Name,
  records: readonly { readonly [N in Name]?: string | number | undefined }[],
): void {
  const seen = new Set<string | number>();
  for (const record of records) {
    const value = record[field];
    if (value === undefined) continue;
    if (seen.has(value)) throw new TypeError(`Sandbox option "${option}" has ${field} ${value} twice.`);
    seen.add(value);
  }
}
