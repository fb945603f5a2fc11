/**
 * Parses a URL; `undefined` if it is none. Not with `URL.canParse`: once Node.js 20 has optimised it, it says no to every URL with
 * a character outside ASCII.
 */
export function parseUrl(text: string): URL | undefined {
  try {
    return new URL(text);
  } catch {
    return undefined;
  }
}
