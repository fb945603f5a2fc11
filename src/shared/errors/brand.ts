/** The symbol of a class. It is set on the prototype, so that a user's own subclass has none of its own. */
export function errorClassSymbol(name: string): symbol {
  return Symbol.for(`stocklot.${name}`);
}

/** Sets the names of classes, whatever a bundler calls them, and their symbols, by which the other copy of the package knows them. */
export function brandErrorClasses(classes: Readonly<Record<string, { readonly prototype: object }>>): void {
  for (const [name, errorClass] of Object.entries(classes)) {
    Object.defineProperty(errorClass, "name", { value: name, configurable: true });
    Object.defineProperties(errorClass.prototype, {
      name: { value: name, configurable: true, writable: true },
      [errorClassSymbol(name)]: { value: name },
    });
  }
}

/** Whether a value is an error of this package, of either copy. */
export const isBrandedError = (value: unknown): boolean =>
  value instanceof Error && errorClassSymbol("StocklotError") in value;
