import type { z } from "zod";
import { InputValidationError, OutcomeUnknownError } from "../errors/index.js";
import type { LazySchema } from "../schemas/field.js";

/** What an `OutcomeUnknownError` of a `POST` to this path had sent; rejects any other error. */
export function sentRequest<T>(
  method: string,
  error: unknown,
  { path, what, schema }: { path: string; what: string; schema: LazySchema<z.ZodType<T>> },
): { body: T; sentAt: number } {
  if (error instanceof OutcomeUnknownError && error.request.method === "POST" && error.request.path === path) {
    const { data: body } = schema().safeParse(error.request.body);
    if (body !== undefined) return { body, sentAt: error.request.sentAt };
  }
  const message = `must be the OutcomeUnknownError of a ${what}`;
  throw new InputValidationError(method, [{ path: ["error"], message }]);
}
