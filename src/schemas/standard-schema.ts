import { fieldOf, isObject } from "../errors/field-of.js";

/**
 * A schema of any library that follows the Standard Schema specification (zod, valibot, arktype and others): the part of
 * the specification that this package uses, copied as it asks for.
 */
export interface StandardSchema<Output = unknown> {
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => StandardResult<Output> | Promise<StandardResult<Output>>;
    readonly types?: { readonly input: unknown; readonly output: Output } | undefined;
  };
}

export type StandardResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly StandardIssue[] };

export interface StandardIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

export const isStandardSchema = (value: unknown): value is StandardSchema => isObject(fieldOf(value, "~standard"));
