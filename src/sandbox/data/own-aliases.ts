import type { Item } from "../../schemas/item.js";

/** The caller's alternate part numbers. Throws a `TypeError` for one that points to no item. */
export function userAliases(given: Readonly<Record<string, string>>, items: readonly Item[]): Map<string, string> {
  const skus = new Set(items.map(({ shortID }) => shortID));
  const aliases = new Map(Object.entries(given));
  for (const [alias, shortID] of aliases) {
    if (!skus.has(shortID))
      throw new TypeError(`Sandbox option "aliases": "${alias}" points to no item, "${shortID}".`);
  }
  return aliases;
}
