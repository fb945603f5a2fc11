import { appendFileSync, statSync, truncateSync } from "node:fs";
import { isMissing } from "./lines.js";

/** Which file it is, and how long: looks different after somebody has appended to it or put another in its place. */
export interface Look {
  file: bigint;
  bytes: bigint;
}

/** `undefined` where there is no such file. */
export function lookAt(path: string): Look | undefined {
  try {
    const { ino, size } = statSync(path, { bigint: true });
    return { file: ino, bytes: size };
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

export const isSame = (one: Look | undefined, other: Look | undefined) =>
  one?.file === other?.file && one?.bytes === other?.bytes;

/** Appends all of it, or nothing, and gives how the file looks then. */
export function append(path: string, text: string, before: Look | undefined): Look | undefined {
  try {
    appendFileSync(path, text);
  } catch (error) {
    // The disk may be full, and half of the text there.
    if (before && lookAt(path)?.file === before.file) truncateSync(path, Number(before.bytes));
    throw error;
  }
  return before && { ...before, bytes: before.bytes + BigInt(Buffer.byteLength(text)) };
}
