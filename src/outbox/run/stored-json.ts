import { StocklotError } from "../../errors/index.js";
import { fieldOf, messageOf } from "../../errors/unknown-value.js";
import type { StoredJson } from "../store.js";

/** An error as it is stored: `{ name, message, … }`. */
export function errorJson(error: unknown): StoredJson {
  if (error instanceof StocklotError) return JSON.stringify(error.toJSON());
  if (!(error instanceof Error) && typeof fieldOf(error, "message") === "string") return JSON.stringify(error);
  return JSON.stringify({ name: String(fieldOf(error, "name") ?? "Error"), message: messageOf(error) });
}

/** A result as it is stored; `null` if there is none. */
export const resultJson = (result: unknown): StoredJson | null => JSON.stringify(result) ?? null;
