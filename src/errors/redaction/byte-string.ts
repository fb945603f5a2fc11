const encoder = /* @__PURE__ */ new TextEncoder();

export const encodeUtf8 = (text: string): Uint8Array => encoder.encode(text);

/** Longer lists of arguments could overflow the stack. */
const MAX_ARGUMENTS = 8_192;

/** A string with one character per byte. Workers have no `Buffer`, which could do this. */
export function byteString(bytes: Uint8Array): string {
  let text = "";
  for (let start = 0; start < bytes.length; start += MAX_ARGUMENTS)
    text += String.fromCharCode(...bytes.subarray(start, start + MAX_ARGUMENTS));
  return text;
}
