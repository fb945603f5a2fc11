/** The symbol of a class. It is set on the prototype, so that a user's own subclass has none of its own. */
export function errorClassSymbol(name: string): symbol {
  return Symbol.for(`stocklot.${name}`);
}

/** Sets the names of classes, whatever a bundler calls them, and their symbols, by which the other copy of the package knows them. */
export function brandErrorClasses(classes: Readonly<Record<string, { readonly prototype: object }>>): void {
  for (const [name, errorClass] of Object.entries(classes)) {
    Object.defineProperty(errorClass, "name", { value: name });
    Object.defineProperties(errorClass.prototype, {
      name: { value: name, configurable: true, writable: true },
      [errorClassSymbol(name)]: { value: name },
    });
  }
}

/** An error that `instanceof` also knows if it is one of the other copy of the package, by the symbol of its class. */
export abstract class BrandedError extends Error {
  /** Lets `instanceof` recognise the errors of the other copy of the package by their symbol. */
  static override [Symbol.hasInstance](value: unknown): boolean {
    // `this` is the class on the right of instanceof, not the root of the tree.
    const symbol = errorClassSymbol(this.prototype.name);
    return Object.hasOwn(this.prototype, symbol)
      ? symbol in Object(value)
      : Function.prototype[Symbol.hasInstance].call(this, value);
  }
}

/** Whether a value is an error of this package, of either copy. */
export const isBrandedError = (value: unknown): boolean =>
  value instanceof Error && errorClassSymbol("StocklotError") in value;
