import * as z from "zod";

/** A schema that is built at its first use, since building all of them would make importing the package slow. */
export type LazySchema<S extends z.ZodType> = () => S;

/* @__NO_SIDE_EFFECTS__ */
export function lazy<S extends z.ZodType>(build: () => S): LazySchema<S> {
  let schema: S | undefined;
  return () => {
    schema ??= build();
    return schema;
  };
}

/**
 * `true` when an interface and its schema describe the same value, key by key. The interface is written out, with its
 * documentation, so that zod does not appear in the published types; this keeps the two from drifting apart.
 */
export type SameShape<T, S extends LazySchema<z.ZodType>> = Same<T, z.infer<ReturnType<S>>>;
type Same<A, B> = [A, keyof A, B, keyof B] extends [B, keyof B, A, keyof A] ? true : never;

/** The same fields, each of which may be left out or `undefined`. */
export const optional = <Shape extends z.ZodRawShape>(shape: Shape) => z.object(shape).partial().shape;

/** A schema with one more check, which tells what is wrong or `undefined`. */
export const refined = <S extends z.ZodType>(schema: S, problem: (value: z.infer<S>) => string | undefined) =>
  schema.superRefine((value, { addIssue }) => {
    const message = problem(value);
    if (message) addIssue(message);
  });

export const text = () => z.string();

export const flag = () => z.boolean();

/**
 * A whole number that a double holds exactly. One that is takes a short way past zod's checks: a page has a thousand of them,
 * which were a tenth of the time that stocklot spends on it.
 */
export const integer = () => {
  const schema = z.int();
  const { run } = schema._zod;
  schema._zod.run = (payload, context) => (Number.isSafeInteger(payload.value) ? payload : run(payload, context));
  return schema;
};

/** A quantity, weight or price. */
export const decimal = () => z.number();

/** A moment as the service writes it: text in ISO 8601. Its form is not checked, `parseServiceDate` reads it. */
export const datetime = () => text().meta({ format: "date-time" });
