/** Without the fields that are undefined, so that they do not override a default. */
export function withoutUndefined<T extends object>(fields: T): { [K in keyof T]: Exclude<T[K], undefined> };
export function withoutUndefined(fields: object): object {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}
