import { inspect } from "node:util";

/** A piece of a secret of this length is a leak. */
const MIN_LEAK_LENGTH = 12;

function* piecesOf(secret: string): Generator<string> {
  for (let at = 0; at + MIN_LEAK_LENGTH <= secret.length; at += 1) yield secret.slice(at, at + MIN_LEAK_LENGTH);
}

/** Everything that a logger, a debugger or a crash report could print of a value. */
export function visibleText(value: unknown): string {
  const visible: string[] = [];
  const seen = new Set<unknown>();
  const collect = (part: unknown) => {
    if (typeof part === "string") visible.push(part);
    if (typeof part !== "object" || part === null || seen.has(part)) return;
    seen.add(part);
    visible.push(
      inspect(part, { depth: Number.POSITIVE_INFINITY, showHidden: true, maxStringLength: null, maxArrayLength: null }),
    );
    if (ArrayBuffer.isView(part))
      visible.push(Buffer.from(part.buffer, part.byteOffset, part.byteLength).toString("latin1"));
    if (part instanceof Error) visible.push(String(part), String(part.stack), String(part.message));
    try {
      visible.push(JSON.stringify(part));
    } catch {
      // Circular.
    }
    for (const key of Reflect.ownKeys(part)) {
      try {
        collect(Reflect.get(part, key));
      } catch {
        // A getter that throws shows nothing.
      }
    }
  };
  collect(value);
  return visible.join("\n");
}

/** The pieces of secrets that are visible in a value. */
export function findLeaks(value: unknown, secrets: readonly string[]): string[] {
  const visible = visibleText(value);
  return secrets.flatMap((secret) => [...piecesOf(secret)].filter((piece) => visible.includes(piece)));
}
