import type { SandboxSettings } from "../options/settings.js";
import type { RecordIndex } from "../store/record-index.js";
import { parseIsoTime } from "../time.js";
import { bodyToBytes, type SandboxResponse, serializedJsonResponse } from "./response.js";
import { validationError } from "./service-error.js";

const DEFAULT_PAGE_SIZE = 25;
const MAX_PAGE_SIZE = 250;

/** What a list endpoint lists. */
export interface PagedList {
  readonly index: RecordIndex;
  /** Direction if the request names no column. */
  readonly defaultDirection: "ASC" | "DESC";
  /** Whether the list supports `modifiedSince`. */
  readonly supportsModifiedSince: boolean;
  toJson(id: number): Uint8Array;
}

/** The requested page of a list, in the common envelope and with its headers. */
export function listPageResponse(list: PagedList, query: URLSearchParams, settings: SandboxSettings): SandboxResponse {
  const page = readPositiveInteger(query, "page", 1, settings);
  const pageSize = Math.min(readPositiveInteger(query, "pageSize", DEFAULT_PAGE_SIZE, settings), MAX_PAGE_SIZE);
  const { ids, descending } = selectOrderedIds(list, query);
  const totalCount = ids.length;
  const pageCount = Math.ceil(totalCount / pageSize);
  const start = Math.min((page - 1) * pageSize, totalCount);
  const end = Math.min(start + pageSize, totalCount);

  const records: Uint8Array[] = [];
  for (let position = start; position < end; position += 1) {
    const id = ids[descending ? totalCount - 1 - position : position];
    if (id !== undefined) records.push(list.toJson(id));
  }
  const numbers = `"totalCount":${totalCount},"page":${page},"pageSize":${pageSize},"pageCount":${pageCount}`;
  return serializedJsonResponse(200, encodePageBody(records, `${numbers},"hasMore":${page < pageCount}`), {
    "x-total-count": String(totalCount),
    "x-page-size": String(pageSize),
    "x-page": String(page),
    "x-api-version": "v1",
  });
}

/** An unknown column is ignored, and `direction` with it. */
function selectOrderedIds(list: PagedList, query: URLSearchParams): { ids: readonly number[]; descending: boolean } {
  const named = query.get("sort");
  const column = named ? list.index.column(named) : undefined;
  const direction = query.get("direction")?.toUpperCase();
  const ids = selectModifiedIds(list, query, column);
  if (column) return { ids, descending: direction === "DESC" };
  const asked = named ? undefined : direction;
  return { ids, descending: (asked === "ASC" || asked === "DESC" ? asked : list.defaultDirection) === "DESC" };
}

function selectModifiedIds(
  { index, supportsModifiedSince }: PagedList,
  query: URLSearchParams,
  column: string | undefined,
) {
  const text = supportsModifiedSince ? query.get("modifiedSince") : null;
  if (!text) return index.ascending(column);
  const since = parseIsoTime(text);
  if (since === undefined)
    throw validationError({ modifiedSince: ["The field modifiedSince must be a datetime (ISO 8601)."] });
  return index.modifiedSince(since, column);
}

/** An integer of at least 1. */
function readPositiveInteger(
  query: URLSearchParams,
  name: string,
  fallback: number,
  { invalidPaging }: SandboxSettings,
): number {
  const text = query.get(name);
  if (text === null || text === "") return fallback;
  const value = /^[+-]?\d+$/.test(text) ? Number(text) : Number.NaN;
  if (value >= 1) return Math.min(value, Number.MAX_SAFE_INTEGER);
  if (invalidPaging === "refuse")
    throw validationError({ [name]: [`The field ${name} must be an integer of at least 1.`] });
  return Number.isNaN(value) ? fallback : 1;
}

const ENVELOPE_OPENING = bodyToBytes('{"value":[');
const COMMA_BYTE = 0x2c;

/** The common envelope: the records' JSON, and after them the JSON of the numbers. */
function encodePageBody(records: readonly Uint8Array[], numbers: string): Uint8Array {
  const closing = bodyToBytes(`],${numbers}}`);
  let length = ENVELOPE_OPENING.length + Math.max(0, records.length - 1) + closing.length;
  for (const record of records) length += record.length;

  const body = new Uint8Array(length);
  body.set(ENVELOPE_OPENING);
  let position = ENVELOPE_OPENING.length;
  for (const record of records) {
    if (position > ENVELOPE_OPENING.length) body[position++] = COMMA_BYTE;
    body.set(record, position);
    position += record.length;
  }
  body.set(closing, position);
  return body;
}
