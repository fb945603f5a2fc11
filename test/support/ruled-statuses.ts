import { isPassingStatus, isTransientStatus, mayHaveApplied } from "../../src/service/status.js";

const rulesOf = (status: number) =>
  [isTransientStatus, mayHaveApplied, isPassingStatus].map((rule) => rule(status)).join();

/** The statuses of errors that are retried or reported unlike most others of their hundred. */
export const RULED_STATUSES: readonly number[] = [3, 4, 5].flatMap((hundred) => {
  const usual = rulesOf(hundred * 100 + 99);
  return Array.from({ length: 100 }, (_, index) => hundred * 100 + index).filter((status) => rulesOf(status) !== usual);
});
