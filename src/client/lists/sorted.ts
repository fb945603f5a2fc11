/** Whether values are in an order, as far as one can tell from outside. `undefined` if they are all equal. */
export function isSorted(values: readonly unknown[], direction: "ASC" | "DESC"): boolean | undefined {
  if (new Set(values).size < 2) return undefined;
  const isInOrder = <Value>(sorted: readonly Value[], compare: (one: Value, next: Value) => number) =>
    sorted.every((value, index) => {
      const next = sorted[index + 1];
      if (next === undefined) return true;
      return direction === "ASC" ? compare(value, next) <= 0 : compare(value, next) >= 0;
    });
  if (values.every((value) => typeof value === "number")) return isInOrder(values, (one, next) => one - next);
  const texts = values.map(String);
  const lowerCase = texts.map((text) => text.toLowerCase());
  const start = commonPrefixLength(lowerCase);
  const initials = lowerCase.map((text) => text.charAt(start));
  // Services compare strings by rules of their own: one rule that fits is enough.
  return (
    isInOrder(initials, compareCodeUnits) ||
    isInOrder(texts, compareCodeUnits) ||
    isInOrder(texts, new Intl.Collator("en", { numeric: true }).compare) ||
    isInOrder(texts, new Intl.Collator("en", { ignorePunctuation: true }).compare)
  );
}

const compareCodeUnits = (one: string, next: string) => (one === next ? 0 : one < next ? -1 : 1);

function commonPrefixLength([first = "", ...others]: readonly string[]): number {
  let length = 0;
  while (length < first.length && others.every((text) => text.charAt(length) === first.charAt(length))) length += 1;
  return length;
}
