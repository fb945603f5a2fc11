const lenient = /* @__PURE__ */ new TextDecoder();
const strict = /* @__PURE__ */ new TextDecoder("utf-8", { fatal: true });

/** The body as a string, without a byte order mark. Bytes that are not UTF-8 become replacement characters. */
export const readText = ({ body }: { body: Uint8Array }): string => lenient.decode(body);

/** The same; `undefined` if the body is not valid UTF-8. */
export function readValidText({ body }: { body: Uint8Array }): string | undefined {
  try {
    return strict.decode(body);
  } catch {
    return undefined;
  }
}

/** The value of a JSON text; `undefined`, which is no JSON value, if it is not JSON. */
export function parseJsonOrUndefined(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return value;
  } catch {
    return undefined;
  }
}
