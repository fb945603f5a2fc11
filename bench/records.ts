/** The records of the benchmark's service, as JSON strings. */
import { newLot } from "../test/support/records.js";

export const itemJson = JSON.stringify({
  partNo: 1042,
  shortID: "BOLT-M8X40-A2",
  description: "Hex bolt M8 x 40, stainless A2",
  category: 12,
  subCategory: 3,
  uOM: "EA",
  putUp: "Box of 100",
  units: 100,
  dfltOwner: 0,
  created: "2023-04-18T09:15:00Z",
  modified: "2025-01-07T14:32:10Z",
  discontinued: false,
});

export const lot = (recNo: number) =>
  newLot({
    recNo,
    partNo: 1000 + (recNo % 2000),
    shortID: `BOLT-M${recNo % 30}X${recNo % 90}`,
    description: "Hex bolt, stainless A2, full thread",
    warehouse: "Main warehouse",
    spot: `A-${recNo % 40}-${recNo % 12}`,
    units: (recNo % 500) + 0.5,
    received: "2024-11-02T08:30:00Z",
    serial: `S${recNo}`,
  });

/** The pages that were created. A page that is requested repeatedly is created once. */
const kept = new Map<string, Buffer>();
const PAGES_KEPT = 512;

function keep(key: string, make: () => string): Buffer {
  const known = kept.get(key);
  if (known) return known;
  const made = Buffer.from(make());
  if (kept.size < PAGES_KEPT) kept.set(key, made);
  return made;
}

export function lotPage(page: number, pageSize: number, lots: number): Buffer {
  return keep(`${page} ${pageSize} ${lots}`, () => {
    const first = (page - 1) * pageSize;
    const count = Math.max(0, Math.min(pageSize, lots - first));
    const pageCount = Math.ceil(lots / pageSize);
    return JSON.stringify({
      value: Array.from({ length: count }, (_, index) => lot(first + index + 1)),
      totalCount: lots,
      page,
      pageSize,
      pageCount,
      hasMore: page < pageCount,
    });
  });
}

/** Returns the same records in the form of a list with a cursor. */
export function stripePage(after: number, pageSize: number, lots: number): Buffer {
  return keep(`after ${after} ${pageSize} ${lots}`, () => {
    const count = Math.max(0, Math.min(pageSize, lots - after));
    return JSON.stringify({
      object: "list",
      url: "/v1/customers",
      has_more: after + count < lots,
      data: Array.from({ length: count }, (_, index) => ({ id: String(after + index + 1), ...lot(after + index + 1) })),
    });
  });
}
