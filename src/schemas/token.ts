import * as z from "zod";
import { lazy, text } from "./field.js";

const ACCESS_TOKEN = /^[\x21-\x7e]+$/;

/** Text that can go into a header as a token. */
export const isAccessToken = (value: unknown): value is string => typeof value === "string" && ACCESS_TOKEN.test(value);

/**
 * The answer of the token endpoint. Only the token itself is needed; it goes into a header, so it must be one that fits
 * there. `expires_in` is read leniently, see `tokenLifeMs`.
 */
export const tokenSchema = /* @__PURE__ */ lazy(() =>
  z.object({
    access_token: text().regex(ACCESS_TOKEN),
    token_type: z.unknown().optional(),
    expires_in: z.unknown().optional(),
  }),
);
