import { AUTHENTICATION } from "./checks/authentication.js";
import { PAGING } from "./checks/paging.js";
import { READING } from "./checks/reading.js";
import { WRITING } from "./checks/writing.js";
import type { Check } from "./target.js";

export const SUITE: readonly Check[] = [...AUTHENTICATION, ...PAGING, ...READING, ...WRITING];
