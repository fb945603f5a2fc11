const RESERVED_HEADER_PATTERN =
  /^(authorization|connection|content-length|expect|host|keep-alive|proxy-(authorization|connection)|te|trailer|transfer-encoding|upgrade)$/i;

/** Returns what is wrong with a header; `undefined` if nothing is. */
export function describeHeaderProblem(name: string, value: string): string | undefined {
  if (RESERVED_HEADER_PATTERN.test(name)) return "cannot be set, since the client sets it";
  if (!/^[!#$%&'*+\-.^_`|~\w]+$/.test(name)) return "is not a valid header name";
  if (!/^[\t\x20-\x7e\x80-\xff]*$/.test(value))
    return "must not contain line breaks, control characters, or characters outside Latin-1";
  return undefined;
}

/** Returns the headers with names in lower case. If two names become equal, the later header counts. */
export const lowerCaseHeaderNames = (headers: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
