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
