/** Whether values are sorted in this direction, by any rule that services usually use. `undefined` if all values are equal. */
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
  // The values are sorted if they are in the order of one of these rules.
  return isInOrder(initials, compareCodeUnits) || textOrders().some((compare) => isInOrder(texts, compare));
}

/** Compares two texts: negative if the first one comes first. */
type TextOrder = (one: string, next: string) => number;

const compareCodeUnits: TextOrder = (one, next) => (one === next ? 0 : one < next ? -1 : 1);

let orders: readonly TextOrder[] | undefined;

/** The rules by which services usually compare texts. */
export function textOrders(): readonly TextOrder[] {
  orders ??= [
    compareCodeUnits,
    (one, next) => compareCodeUnits(one.toLowerCase(), next.toLowerCase()),
    new Intl.Collator("en", { numeric: true }).compare,
    new Intl.Collator("en", { ignorePunctuation: true }).compare,
  ];
  return orders;
}

function commonPrefixLength([first = "", ...others]: readonly string[]): number {
  let length = 0;
  while (length < first.length && others.every((text) => text.charAt(length) === first.charAt(length))) length += 1;
  return length;
}
