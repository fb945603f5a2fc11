/** The message of what was thrown. Callers may throw anything, even values that cannot become a string; this never throws. */
export function messageOf(thrown: unknown): string {
  try {
    return String(thrown instanceof Error ? thrown.message : thrown);
  } catch {
    return `a thrown ${typeof thrown}`;
  }
}
