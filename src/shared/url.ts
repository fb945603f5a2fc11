/**
 * Parses a URL. Returns `undefined` if the text is no URL. Does not use `URL.canParse`: after Node.js 20 has optimised
 * that function, it returns false for every URL with a character outside ASCII.
 */
export function parseUrl(text: string): URL | undefined {
  try {
    return new URL(text);
  } catch {
    return undefined;
  }
}
