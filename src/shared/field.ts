import * as z from "zod";
import { fieldOf } from "./unknown.js";

/** A schema that is built at its first use: building all of them would make the import of the package slow. */
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
 * `true` if an interface and its schema describe the same value, key by key. Interfaces are written out, with their
 * documentation, so that zod does not appear in the published types; this check keeps the two in agreement.
 */
export type SameShape<T, S extends LazySchema<z.ZodType>> = IsSameType<T, z.infer<ReturnType<S>>>;
type IsSameType<A, B> = [A, keyof A, B, keyof B] extends [B, keyof B, A, keyof A] ? true : never;

/** The same fields, each optional and allowed to be `undefined`. */
export const optionalFields = <Shape extends z.ZodRawShape>(shape: Shape) => z.object(shape).partial().shape;

/** An object whose other fields are kept. They are not in its type. With `toJSON`, it would be sent as another one. */
export const objectWithOthers = <Shape extends z.ZodRawShape>(shape: Shape) =>
  (z.looseObject(shape) as z.ZodObject as z.ZodObject<Shape>).refine(
    (value) => typeof fieldOf(value, "toJSON") !== "function",
    "must be plain data, without toJSON",
  );

/** A schema with one more check, which returns what is wrong, or `undefined`. */
export const withCheck = <S extends z.ZodType>(schema: S, problem: (value: z.infer<S>) => string | undefined) =>
  schema.superRefine((value, { addIssue }) => {
    const message = problem(value);
    if (message) addIssue(message);
  });

export const string = () => z.string();

export const boolean = () => z.boolean();

/** An integer that a double holds exactly. */
export const integer = () => z.int();

/** A quantity, weight or price. */
export const decimal = () => z.number();

/** A datetime of the service: an ISO 8601 string. Its form is not checked here; `parseServiceDate` checks it. */
export const datetime = () => string().meta({ format: "date-time" });
