import { fieldOf, isObject } from "../errors/unknown-value.js";

/**
 * A schema of any library that follows the Standard Schema specification (zod, valibot, arktype and others): the part of
 * the specification that this package uses, copied as it asks for.
 */
export interface StandardSchema<Output = unknown> {
  /** All that the specification puts on a schema. */
  readonly "~standard": {
    /** Version of the specification. */
    readonly version: 1;
    /** Name of the library. */
    readonly vendor: string;
    /** Gives the value that the schema makes of another, or what is wrong with it. */
    readonly validate: (value: unknown) => StandardResult<Output> | Promise<StandardResult<Output>>;
    /** For the compiler alone. */
    readonly types?:
      | {
          /** What the schema takes. */
          readonly input: unknown;
          /** What it gives. */
          readonly output: Output;
        }
      | undefined;
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
