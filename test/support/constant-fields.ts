/**
 * Returns the fields that have the same value in all of these records. If they come from situations that differ, nothing
 * shows that such a field is ever set.
 */
export function constantFields(records: readonly object[]): string[] {
  const names = new Set(records.flatMap((record) => Object.keys(record)));
  return [...names].filter((name) => {
    const values = records.map((record) => JSON.stringify(new Map(Object.entries(record)).get(name)));
    return new Set(values).size === 1;
  });
}
