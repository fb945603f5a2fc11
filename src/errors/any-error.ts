import type * as errors from "./index.js";
import { StocklotError } from "./stocklot-error.js";

type Exports = typeof errors;
type InstanceOf<Class> = Class extends abstract new (...args: never) => infer Instance ? Instance : never;
/** Every class of this folder, by its name. */
type ErrorClasses = { [Name in Exclude<keyof Exports, "StocklotError">]: InstanceOf<Exports[Name]> };

/**
 * The `name` of an error of this package.
 *
 * @useDeclaredType
 */
export type StocklotErrorName = keyof ErrorClasses;

/** Any error of this package, distinguished by `name`: a `switch` over it can be exhaustive. */
export type AnyStocklotError = {
  [Name in StocklotErrorName]: ErrorClasses[Name] & { readonly name: Name };
}[StocklotErrorName];

/**
 * Whether an error is one of this package, as a union that `switch (error.name)` narrows. Classes of your own that extend
 * one of them and set a name of their own belong in the `default` branch.
 */
export const isStocklotError = (error: unknown): error is AnyStocklotError => error instanceof StocklotError;
