/** What was thrown says this. Callers may throw anything, also what cannot be made a text of; this never throws. */
export function messageOf(thrown: unknown): string {
  try {
    return String(thrown instanceof Error ? thrown.message : thrown);
  } catch {
    return `a thrown ${typeof thrown}`;
  }
}
