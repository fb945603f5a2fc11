/** Longer names are not compared. */
const MAX_COMPARED_NAME_LENGTH = 50;

/** The end of a message about an unknown name; empty if no known name is near. */
export function nearestNameHint(name: string, known: readonly string[]): string {
  const nearest = nearestName(name, known);
  return nearest === undefined ? "" : `, did you mean "${nearest}"?`;
}

/**
 * Returns the known name that differs least, if it is near. A known name is near in three cases: at most a third of its
 * letters differ; one name is part of the other; both begin with the same letters (at least four, and 70 % of the known
 * name). Only letters and digits are compared.
 */
export function nearestName(name: string, known: readonly string[]): string | undefined {
  if (name.length > MAX_COMPARED_NAME_LENGTH) return undefined;
  const wanted = comparable(name);
  const candidates = known.map((candidate) => {
    const lower = comparable(candidate);
    const distance = editDistance(wanted, lower);
    const isPart = Math.min(wanted.length, lower.length) > 2 && (lower.includes(wanted) || wanted.includes(lower));
    const same = commonStart(wanted, lower);
    const beginsAlike = same >= 4 && same >= lower.length * 0.7;
    return { candidate, distance, isNear: isPart || distance <= lower.length / 3 || beginsAlike };
  });
  const [nearest] = candidates.filter(({ isNear }) => isNear).sort((a, b) => a.distance - b.distance);
  return nearest?.candidate;
}

const comparable = (name: string) => name.toLowerCase().replace(/[^\p{L}\p{N}]/gu, "");

function commonStart(one: string, other: string): number {
  let length = 0;
  while (length < one.length && one[length] === other[length]) length += 1;
  return length;
}

/** How many letters have to be added, removed or replaced (Levenshtein). */
function editDistance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (const [index, letter] of [...from].entries()) {
    const next = [index + 1];
    for (let column = 1; column <= to.length; column += 1) {
      const replaced = (row[column - 1] ?? 0) + (letter === to[column - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[column] ?? 0) + 1, (next[column - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[to.length] ?? 0;
}
