import { inspect } from "node:util";

/** A piece of a secret is one too. */
const TELLING_LENGTH = 12;

function* piecesOf(secret: string): Generator<string> {
  for (let at = 0; at + TELLING_LENGTH <= secret.length; at += 1) yield secret.slice(at, at + TELLING_LENGTH);
}

/** All that can be seen of a value: what a logger, a debugger or a crash report could write down. */
export function everythingShown(value: unknown): string {
  const shown: string[] = [];
  const seen = new Set<unknown>();
  const look = (one: unknown) => {
    if (typeof one === "string") shown.push(one);
    if (typeof one !== "object" || one === null || seen.has(one)) return;
    seen.add(one);
    shown.push(
      inspect(one, { depth: Number.POSITIVE_INFINITY, showHidden: true, maxStringLength: null, maxArrayLength: null }),
    );
    if (ArrayBuffer.isView(one)) shown.push(Buffer.from(one.buffer, one.byteOffset, one.byteLength).toString("latin1"));
    if (one instanceof Error) shown.push(String(one), String(one.stack), String(one.message));
    try {
      shown.push(JSON.stringify(one));
    } catch {
      // Circular.
    }
    for (const key of Reflect.ownKeys(one)) {
      try {
        look(Reflect.get(one, key));
      } catch {
        // A getter that throws shows nothing.
      }
    }
  };
  look(value);
  return shown.join("\n");
}

/** The pieces of secrets that can be seen of a value; none, if all is well. */
export function leaksIn(value: unknown, secrets: readonly string[]): string[] {
  const shown = everythingShown(value);
  return secrets.flatMap((secret) => [...piecesOf(secret)].filter((piece) => shown.includes(piece)));
}
