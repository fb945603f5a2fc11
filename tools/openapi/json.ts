/** A value of the document. */
export type Json = string | number | boolean | null | readonly Json[] | JsonObject;
export interface JsonObject {
  readonly [name: string]: Json;
}

/** Returns a reference to a component of the document, for example `schemas/Item`. */
export const ref = (component: string): JsonObject => ({ $ref: `#/components/${component}` });

/** Returns a body of this schema, with the examples of these names. */
export const jsonContent = (schema: JsonObject, examples: readonly string[] = []): JsonObject => ({
  "application/json": {
    schema,
    ...(examples.length > 0 && {
      examples: Object.fromEntries(examples.map((name) => [name, ref(`examples/${name}`)])),
    }),
  },
});
