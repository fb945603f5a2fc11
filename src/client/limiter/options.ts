import * as z from "zod";
import { valueThat } from "../../shared/option.js";
import { lazy, optionalFields } from "../../shared/schema.js";

/** How many requests may be sent, and when. */
export interface RateLimitOptions {
  /**
   * Requests in any interval, token requests included. `Infinity` for no limit.
   * @default 100
   * @example
   * new InventoryClient({ rateLimit: { requests: 300 } });
   */
  requests?: number | undefined;
  /**
   * Length of the interval in ms.
   * @default 60_000
   * @example
   * // Ten requests per second.
   * new InventoryClient({ rateLimit: { requests: 10, intervalMs: 1_000 } });
   */
  intervalMs?: number | undefined;
  /**
   * Slots of each interval that are reserved for writes: bulk requests (further pages of an iteration, writes of an outbox)
   * leave all of them free, other reads half of them, rounded up. Must be less than `requests`; `0` reserves none.
   * @default a tenth of `requests`
   * @example
   * // Nothing but the nightly copy uses these credentials: keep no slots free for
   * // writes.
   * new InventoryClient({ rateLimit: { reserved: 0 } });
   */
  reserved?: number | undefined;
  /**
   * Requests in flight at the same time. `Infinity` for any number.
   * @default 16
   * @example
   * // The service is slow with several requests at a time.
   * new InventoryClient({ rateLimit: { maxConcurrent: 2 } });
   */
  maxConcurrent?: number | undefined;
}

export type RateLimitSettings = { [Name in keyof RateLimitOptions]-?: number };

const DEFAULT_REQUESTS = 100;
const DEFAULT_INTERVAL_MS = 60_000;

/** No limit. A 429 still pauses. */
export const UNLIMITED: RateLimitOptions = { requests: Infinity, maxConcurrent: Infinity };

/**
 * Returns the schema of the options. `mustLimit`: whether `requests` and `intervalMs` must be finite. `others`: further
 * options.
 */
export function rateLimitSchema({
  mustLimit = false,
  others = {},
}: {
  mustLimit?: boolean;
  others?: z.ZodRawShape;
} = {}) {
  const orInfinity = mustLimit ? "" : ", or Infinity";
  const isCount = (value: unknown) => Number.isSafeInteger(value) && Number(value) > 0;
  const limits = optionalFields({
    requests: valueThat(
      (value) => isCount(value) || (value === Infinity && !mustLimit),
      `must be an integer greater than 0${orInfinity}`,
    ),
    intervalMs: valueThat(
      (value) => Number(value) > 0 && (Number.isFinite(value) || (value === Infinity && !mustLimit)),
      `must be a number of ms greater than 0${orInfinity}`,
    ),
    reserved: valueThat((value) => value === 0 || isCount(value), "must be an integer of at least 0"),
    maxConcurrent: valueThat(
      (value) => isCount(value) || value === Infinity,
      "must be an integer greater than 0, or Infinity",
    ),
  });
  return z
    .strictObject({ ...limits, ...others })
    .superRefine(({ requests = DEFAULT_REQUESTS, reserved }, { addIssue }) => {
      if (Number(reserved) < Number(requests) || reserved === undefined) return;
      const message = `must be less than requests (${requests}), not ${reserved}`;
      addIssue({ code: "custom", path: ["reserved"], message });
    });
}

export const rateLimitOptionsSchema = /* @__PURE__ */ lazy(() => rateLimitSchema());

/** The options with their defaults. */
export function rateLimitSettings({
  requests = DEFAULT_REQUESTS,
  intervalMs = DEFAULT_INTERVAL_MS,
  reserved = requests === Infinity ? 0 : Math.floor(requests / 10),
  maxConcurrent = 16,
}: RateLimitOptions): RateLimitSettings {
  return { requests, intervalMs, reserved, maxConcurrent };
}
