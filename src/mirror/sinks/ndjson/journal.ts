import { appendFileSync, statSync, truncateSync } from "node:fs";
import { crc32 } from "node:zlib";
import * as z from "zod";
import { lazy } from "../../../schemas/field.js";
import { isFileMissingError } from "../../../storage/file-failure.js";
import { type MirrorKey, type MirrorResource, RESOURCES } from "../../tables.js";

/** A commit for the journal. Records are JSON already. */
export interface JournalCommit {
  resource: MirrorResource;
  upsert: readonly string[];
  remove: readonly MirrorKey[];
  previousState: string | undefined;
  state: string;
}

/** The first line of a journal: the state that was saved when it was created, and the files that existed then. */
const journalHeaderSchema = lazy(() =>
  z.strictObject({ state: z.string().optional(), files: z.array(z.string()).optional() }),
);

const journalCommitSchema = lazy(() =>
  z.strictObject({
    resource: z.enum(RESOURCES),
    upsert: z.array(z.custom<object>((value) => typeof value === "object" && value !== null)),
    remove: z.array(z.union([z.int(), z.string()])),
    previousState: z.string().optional(),
    state: z.string(),
  }),
);

export type JournalHeader = z.infer<ReturnType<typeof journalHeaderSchema>>;

/** A line of the journal. */
export type JournalEntry = JournalHeader | z.infer<ReturnType<typeof journalCommitSchema>>;

const journalEntrySchema = lazy(() => z.union([journalCommitSchema(), journalHeaderSchema()]));

/** The first line of a journal. */
export const journalHeaderLine = (header: JournalHeader) => withChecksum(JSON.stringify(header));

/** The line of a commit. */
export function journalCommitLine({ upsert, ...rest }: JournalCommit): string {
  return withChecksum(`${JSON.stringify(rest).slice(0, -1)},"upsert":[${upsert}]}`);
}

/** Parses a line; `undefined` if it was not written completely, for example because of a power failure. */
export function parseJournalEntry(line: string): JournalEntry | undefined {
  const json = line.slice(CHECKSUM_LENGTH + 1);
  return line === withChecksum(json) ? journalEntrySchema().parse(JSON.parse(json)) : undefined;
}

const CHECKSUM_LENGTH = 8;

const withChecksum = (json: string) => `${crc32(json).toString(16).padStart(CHECKSUM_LENGTH, "0")} ${json}`;

/** Identity and length of a file: they differ after another process has appended to it or replaced it. */
export interface FileStamp {
  file: bigint;
  bytes: bigint;
}

/** `undefined` if there is no such file. */
export function fileStampOf(path: string): FileStamp | undefined {
  try {
    const { ino, size } = statSync(path, { bigint: true });
    return { file: ino, bytes: size };
  } catch (error) {
    if (isFileMissingError(error)) return undefined;
    throw error;
  }
}

export const isSameFileStamp = (one: FileStamp | undefined, other: FileStamp | undefined) =>
  one?.file === other?.file && one?.bytes === other?.bytes;

/** Appends the whole text or nothing. Returns the stamp of the file afterwards. */
export function appendIfUnchanged(path: string, text: string, before: FileStamp | undefined): FileStamp | undefined {
  try {
    appendFileSync(path, text);
  } catch (error) {
    // The disk may be full, with part of the text written.
    if (before && fileStampOf(path)?.file === before.file) truncateSync(path, Number(before.bytes));
    throw error;
  }
  return before && { ...before, bytes: before.bytes + BigInt(Buffer.byteLength(text)) };
}
