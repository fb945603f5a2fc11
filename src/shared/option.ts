import * as z from "zod";
import { fieldOf } from "./unknown.js";

/**
 * Returns the schema of a value that fulfils a condition. `message` states what the value must be. The wrong value is
 * added to it.
 */
export const valueThat = <T>(condition: (value: unknown) => boolean, message: string) =>
  z.custom<T>(condition, { error: message, params: { isExpectation: true } });

export const durationMsSchema = () =>
  valueThat<number>((value) => typeof value === "number" && value > 0, "must be a number of ms greater than 0");

/** A time in ms, or none. */
export const nonNegativeMsSchema = () =>
  valueThat<number>((value) => typeof value === "number" && value >= 0, "must be a number of ms, at least 0");

export const countOrInfinitySchema = () =>
  valueThat<number>(
    (value) => (Number.isSafeInteger(value) && Number(value) >= 0) || value === Infinity,
    "must be an integer of at least 0, or Infinity",
  );

export const functionSchemaOf = <F>() => valueThat<F>((value) => typeof value === "function", "must be a function");

export const functionSchema = () => functionSchemaOf<() => void>();

const areMethods = (value: unknown, names: readonly string[]) =>
  names.every((name) => typeof fieldOf(value, name) === "function");

export const objectWithMethodsSchema = <T>(methods: readonly string[], message: string) =>
  valueThat<T>((value) => areMethods(value, methods), message);

const SIGNAL_METHODS = ["addEventListener", "removeEventListener"];

/** An `InventoryClient` of this copy of the package or of another one. */
export const inventoryClientSchema = <T>() =>
  objectWithMethodsSchema<T>(["request", "paginate"], "must be an InventoryClient");

/** Any `AbortSignal`, whichever realm or polyfill it is from; null is none. */
export const abortSignalSchema = () =>
  valueThat<AbortSignal | null>(
    (value) => value === null || (typeof fieldOf(value, "aborted") === "boolean" && areMethods(value, SIGNAL_METHODS)),
    "must be an AbortSignal",
  );
