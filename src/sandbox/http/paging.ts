import { parseTime } from "../clock.js";
import type { Settings } from "../settings.js";
import type { Listing } from "../store/listing.js";
import { pageBody } from "./page-body.js";
import { invalid } from "./refusal.js";
import { jsonText, type Reply } from "./reply.js";

const DEFAULT_PAGE_SIZE = 25;
const MAX_PAGE_SIZE = 250;

/** A list endpoint: what it lists, in which order by default, and each record as the bytes of its JSON. */
export interface PagedList {
  readonly listing: Listing;
  /** Direction when the request names no column. */
  readonly defaultDirection: "ASC" | "DESC";
  /** Whether `modifiedSince` counts here. */
  readonly honoursModifiedSince: boolean;
  bytes(id: number): Buffer;
}

/** The page of the list that the query asks for, in the common envelope and with its headers. */
export function pageReply(list: PagedList, query: URLSearchParams, settings: Settings): Reply {
  const page = wholeNumber(query, "page", 1, settings);
  const pageSize = Math.min(wholeNumber(query, "pageSize", DEFAULT_PAGE_SIZE, settings), MAX_PAGE_SIZE);
  const { ids, descending } = ordered(list, query);
  const totalCount = ids.length;
  const pageCount = Math.ceil(totalCount / pageSize);
  const start = Math.min((page - 1) * pageSize, totalCount);
  const end = Math.min(start + pageSize, totalCount);

  const records: Buffer[] = [];
  for (let position = start; position < end; position += 1) {
    const id = ids[descending ? totalCount - 1 - position : position];
    if (id !== undefined) records.push(list.bytes(id));
  }
  const numbers = `"totalCount":${totalCount},"page":${page},"pageSize":${pageSize},"pageCount":${pageCount}`;
  return jsonText(200, pageBody(records, `${numbers},"hasMore":${page < pageCount}`), {
    "x-total-count": String(totalCount),
    "x-page-size": String(pageSize),
    "x-page": String(page),
    "x-api-version": "v1",
  });
}

/** An unknown column is ignored, direction and all. */
function ordered(list: PagedList, query: URLSearchParams): { ids: readonly number[]; descending: boolean } {
  const named = query.get("sort");
  const column = named ? list.listing.column(named) : undefined;
  const direction = query.get("direction")?.toUpperCase();
  const ids = filtered(list, query, column);
  if (column) return { ids, descending: direction === "DESC" };
  const asked = named ? undefined : direction;
  return { ids, descending: (asked === "ASC" || asked === "DESC" ? asked : list.defaultDirection) === "DESC" };
}

function filtered({ listing, honoursModifiedSince }: PagedList, query: URLSearchParams, column: string | undefined) {
  const text = honoursModifiedSince ? query.get("modifiedSince") : null;
  if (!text) return listing.ascending(column);
  const since = parseTime(text);
  if (since === undefined) throw invalid({ modifiedSince: ["The field modifiedSince must be a datetime (ISO 8601)."] });
  return listing.modifiedSince(since, column);
}

/** A whole number of at least 1. */
function wholeNumber(query: URLSearchParams, name: string, fallback: number, { invalidPaging }: Settings): number {
  const text = query.get(name);
  if (text === null || text === "") return fallback;
  const value = /^[+-]?\d+$/.test(text) ? Number(text) : Number.NaN;
  if (value >= 1) return Math.min(value, Number.MAX_SAFE_INTEGER);
  if (invalidPaging === "refuse")
    throw invalid({ [name]: [`The field ${name} must be a whole number of at least 1.`] });
  return Number.isNaN(value) ? fallback : 1;
}
