import { appendFileSync, statSync, truncateSync } from "node:fs";
import { crc32 } from "node:zlib";
import * as z from "zod";
import { lazy } from "../../../schemas/field.js";
import { type MirrorResource, RESOURCES } from "../../tables.js";
import { isMissing } from "./line-files.js";

/** A commit as the journal keeps it; the records are JSON already. */
export interface JournalCommit {
  resource: MirrorResource;
  upsert: readonly string[];
  remove: readonly number[];
  previousState: string | undefined;
  state: string;
}

/** The first line of a journal: what was saved when it began. */
const headSchema = lazy(() => z.strictObject({ state: z.string().optional() }));

const commitSchema = lazy(() =>
  z.strictObject({
    resource: z.enum(RESOURCES),
    upsert: z.array(z.custom<object>((value) => typeof value === "object" && value !== null)),
    remove: z.array(z.int()),
    previousState: z.string().optional(),
    state: z.string(),
  }),
);

/** What a line of the journal says. */
export type JournalEntry = z.infer<ReturnType<typeof headSchema>> | z.infer<ReturnType<typeof commitSchema>>;

const entrySchema = lazy(() => z.union([commitSchema(), headSchema()]));

/** The line that a journal begins with. */
export const headerLine = (state: string | undefined) => lineOf(JSON.stringify({ state }));

/** The line of a commit. */
export function commitLine({ upsert, ...rest }: JournalCommit): string {
  return lineOf(`${JSON.stringify(rest).slice(0, -1)},"upsert":[${upsert}]}`);
}

/** What the line says; `undefined` when it was not written to its end, as happens when the power fails. */
export function parseEntry(line: string): JournalEntry | undefined {
  const json = line.slice(CHECKSUM_LENGTH + 1);
  return line === lineOf(json) ? entrySchema().parse(JSON.parse(json)) : undefined;
}

const CHECKSUM_LENGTH = 8;

const lineOf = (json: string) => `${crc32(json).toString(16).padStart(CHECKSUM_LENGTH, "0")} ${json}`;

/** Which file it is, and how long: looks different after somebody has appended to it or put another in its place. */
export interface FileStamp {
  file: bigint;
  bytes: bigint;
}

/** `undefined` where there is no such file. */
export function stampOf(path: string): FileStamp | undefined {
  try {
    const { ino, size } = statSync(path, { bigint: true });
    return { file: ino, bytes: size };
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

export const isSameStamp = (one: FileStamp | undefined, other: FileStamp | undefined) =>
  one?.file === other?.file && one?.bytes === other?.bytes;

/** Appends all of it, or nothing, and gives how the file looks then. */
export function append(path: string, text: string, before: FileStamp | undefined): FileStamp | undefined {
  try {
    appendFileSync(path, text);
  } catch (error) {
    // The disk may be full, and half of the text there.
    if (before && stampOf(path)?.file === before.file) truncateSync(path, Number(before.bytes));
    throw error;
  }
  return before && { ...before, bytes: before.bytes + BigInt(Buffer.byteLength(text)) };
}
