import { fieldOf, isObject } from "./unknown.js";

/**
 * A schema of any library that follows the Standard Schema specification (zod, valibot, arktype and others). Contains the
 * part of the specification that this package uses, copied as the specification recommends.
 */
export interface StandardSchema<Output = unknown> {
  /** The properties of a schema by the specification. */
  readonly "~standard": {
    /** Version number of the specification. */
    readonly version: 1;
    /** Name of the library. */
    readonly vendor: string;
    /** Validates a value: returns the schema's output, or the issues. */
    readonly validate: (value: unknown) => StandardResult<Output> | Promise<StandardResult<Output>>;
    /** Used only by the compiler. */
    readonly types?:
      | {
          /** The type that the schema accepts. */
          readonly input: unknown;
          /** The type that it returns. */
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
