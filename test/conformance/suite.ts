import type { Check } from "./check.js";
import { AUTHENTICATION } from "./checks/authentication.js";
import { PAGING } from "./checks/paging.js";
import { RATE_LIMIT } from "./checks/rate-limit.js";
import { READING } from "./checks/reading.js";
import { WRITING } from "./checks/writing.js";

/** Every check; the one that uses up the rate limit comes last. */
export const SUITE: readonly Check[] = [...AUTHENTICATION, ...PAGING, ...READING, ...WRITING, ...RATE_LIMIT];
