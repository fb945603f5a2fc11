/** Leaves out what was set to `undefined`, so that it does not hide a default. */
export function withoutUndefined<T extends object>(fields: T): { [K in keyof T]: Exclude<T[K], undefined> };
export function withoutUndefined(fields: object): object {
  // Nearly always nothing is to be left out, and a hundred thousand lots need no copy each.
  if (!Object.values(fields).includes(undefined)) return fields;
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}
