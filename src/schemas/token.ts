import { z } from "zod";
import { lazy } from "./field.js";

/**
 * The answer of the token endpoint. Only the token itself is needed; it goes into a header, so it must be one that fits
 * there. `expires_in` is read leniently, see `tokenLifeMs`.
 */
export const tokenSchema = lazy(() =>
  z.object({
    access_token: z.string().regex(/^[\x21-\x7e]+$/),
    token_type: z.unknown().optional(),
    expires_in: z.unknown().optional(),
  }),
);
