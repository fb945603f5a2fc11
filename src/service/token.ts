import * as z from "zod";
import { lazy, string } from "../shared/schema.js";

const ACCESS_TOKEN_PATTERN = /^[\x21-\x7e]+$/;

/** Whether a value is a string that can be sent in a header as a token. */
export const isAccessToken = (value: unknown): value is string =>
  typeof value === "string" && ACCESS_TOKEN_PATTERN.test(value);

/**
 * The response of the token endpoint. Only the token itself is required, and must be usable in a header. `expires_in`
 * is read leniently, see `parseTokenLifetimeMs`.
 */
export const tokenResponseSchema = /* @__PURE__ */ lazy(() =>
  z.object({
    access_token: string().regex(ACCESS_TOKEN_PATTERN),
    token_type: z.unknown().optional(),
    expires_in: z.unknown().optional(),
  }),
);
