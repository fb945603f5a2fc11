import { createReadStream } from "node:fs";
import { open, writeFile } from "node:fs/promises";

/** Text that is written to a file at once. */
const CHUNK_LENGTH = 1 << 20;

/** The lines of a file, without their ends; not the last one if it has no end. Nothing where there is no file. */
export async function* linesOf(path: string): AsyncGenerator<string> {
  let rest = "";
  try {
    for await (const chunk of createReadStream(path, { encoding: "utf8", highWaterMark: CHUNK_LENGTH })) {
      // Not the readline module: to it other characters end a line too, and JSON may hold them.
      const lines = (rest + chunk).split("\n");
      rest = lines.pop() ?? "";
      yield* lines;
    }
  } catch (error) {
    if (!isMissing(error)) throw error;
  }
}

/**
 * Creates a file of lines that is on the disk when this ends.
 *
 * @param mode The permissions of the file; what the process gives to new files where it is `undefined`.
 * @throws when there is a file or a link of that name already: nothing is written through a link.
 */
export async function writeLines(path: string, lines: Iterable<string>, mode: number | undefined): Promise<void> {
  const file = await open(path, "wx", mode);
  try {
    // The process's umask may have removed some. Not all file systems have permissions that can be changed.
    const given = (await file.stat()).mode & 0o777;
    if (mode !== undefined && mode !== given) await file.chmod(mode);
    await writeFile(file, chunksOf(lines));
    await file.sync();
  } finally {
    await file.close();
  }
}

/** `writeFile` takes each text that it is given to the disk by itself; a line is too little. */
function* chunksOf(lines: Iterable<string>): Generator<string> {
  let chunk = "";
  for (const line of lines) {
    chunk += `${line}\n`;
    if (chunk.length < CHUNK_LENGTH) continue;
    yield chunk;
    chunk = "";
  }
  yield chunk;
}

export const isMissing = (error: unknown) => error instanceof Error && "code" in error && error.code === "ENOENT";
