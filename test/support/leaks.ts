import { inspect } from "node:util";

/** A visible piece of a secret is a leak if it has at least this length, in characters. */
const MIN_LEAK_LENGTH = 12;

function* piecesOf(secret: string): Generator<string> {
  for (let at = 0; at + MIN_LEAK_LENGTH <= secret.length; at += 1) yield secret.slice(at, at + MIN_LEAK_LENGTH);
}

/** Returns everything that a logger, a debugger or a crash report could print of a value. */
export function visibleText(value: unknown): string {
  // `inspect` shows the whole tree, but no values of getters, and bytes only as numbers.
  const visible = [inspect(value, { depth: Infinity, showHidden: true, maxStringLength: null, maxArrayLength: null })];
  const seen = new Set<unknown>();
  /** Collects a value, unless reading it throws, as for a circular value. */
  const collectFrom = (read: () => unknown) => {
    try {
      collect(read());
    } catch {}
  };
  const collect = (part: unknown) => {
    if (typeof part === "string") visible.push(part);
    if (typeof part !== "object" || part === null || seen.has(part)) return;
    seen.add(part);
    if (ArrayBuffer.isView(part))
      visible.push(Buffer.from(part.buffer, part.byteOffset, part.byteLength).toString("latin1"));
    if (part instanceof Error) collectFrom(() => String(part));
    if (part instanceof Error || part === value) collectFrom(() => JSON.stringify(part));
    if (part instanceof Map || part instanceof Set) for (const entry of part) collect(entry);
    for (const key of Reflect.ownKeys(part)) {
      collect(key);
      collectFrom(() => Reflect.get(part, key));
    }
  };
  collect(value);
  return visible.join("\n");
}

/** Returns the pieces of secrets that are visible in a value. */
export function findLeaks(value: unknown, secrets: readonly string[]): string[] {
  const visible = visibleText(value);
  return secrets.flatMap((secret) => [...piecesOf(secret)].filter((piece) => visible.includes(piece)));
}
