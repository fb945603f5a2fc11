/**
 * Returns the symbol of a class. It is an own property of the prototype, so that a user's subclass has no symbol of its
 * own.
 */
export function errorClassSymbol(name: string): symbol {
  return Symbol.for(`stocklot.${name}`);
}

/**
 * Sets the names of classes, which a bundler may have changed, and their symbols, by which the other copy of the
 * package (ES module or CommonJS) recognises them.
 */
export function brandErrorClasses(classes: Readonly<Record<string, { readonly prototype: object }>>): void {
  for (const [name, errorClass] of Object.entries(classes)) {
    Object.defineProperty(errorClass, "name", { value: name });
    Object.defineProperties(errorClass.prototype, {
      name: { value: name, configurable: true, writable: true },
      [errorClassSymbol(name)]: { value: name },
    });
  }
}

/**
 * An error class that `instanceof` recognises by its symbol, so that errors of the other copy of the package match,
 * too.
 */
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
