-- Queries of a mirror's copy (docs/mirror.md). They run in SQLite and PostgreSQL, unless the comment says otherwise.

-- The lots in a bin.
SELECT "shortID", spot, units FROM lots
WHERE "wID" = 3 AND spot = 'A-01' AND shipped IS NULL;

-- Lots on hold that were received before a day.
SELECT "recNo", "shortID", "wID", spot, units, received FROM lots
WHERE CAST(hold AS boolean) AND shipped IS NULL AND received < '2026-09-01'
ORDER BY received;

-- The stock of an item, by SKU.
SELECT "shortID", "inStock", available FROM stock WHERE "shortID" = 'BOLT-M8';

-- Items without stock.
SELECT items."shortID", items.description FROM items
LEFT JOIN stock_levels AS levels ON levels."partNo" = items."partNo"
WHERE coalesce(levels."inStock", 0) = 0 AND NOT cast(items.discontinued AS boolean)
ORDER BY items."shortID";

-- Whether the copy can be trusted: lists that failed, that were never read completely, or whose removals were refused.
SELECT list, "wID", "asOf", error, "failedSince", refused FROM mirror_status
WHERE "asOf" IS NULL OR error IS NOT NULL OR refused IS NOT NULL;

-- The changes after a row, for a program that stores the last seq that it has read. First check that this seq is not less than
-- stocklot_mirror.expired, up to which rows were removed. copy.changes({ after }) does both.
SELECT seq, at, resource, key, type, before, after
FROM changes WHERE seq > 3 ORDER BY seq;

-- The stock of an item at a time, not before changesFrom of the stock levels.
WITH item AS (SELECT "partNo" FROM items WHERE "shortID" = 'BOLT-M8'),
later AS (
  SELECT before ->> 'inStock' AS was FROM changes
  WHERE resource = 'stockLevels'
    AND key = (SELECT CAST("partNo" AS text) FROM item)
    AND at > '2026-01-31T23:59:59.999Z'
    AND (type <> 'changed' OR before ->> 'inStock' IS NOT NULL)
  ORDER BY seq LIMIT 1
)
SELECT CASE
  WHEN EXISTS (SELECT 1 FROM later)
    THEN coalesce((SELECT CAST(was AS numeric) FROM later), 0)
  ELSE coalesce((SELECT "inStock" FROM stock_levels
    WHERE "partNo" = (SELECT "partNo" FROM item)), 0)
END AS "inStock";

-- How many days lots stood until they were shipped or removed. For SQLite:
SELECT key AS "recNo", at AS "left",
  julianday(at) - julianday(coalesce(before ->> 'received', received)) AS days
FROM changes LEFT JOIN lots ON CAST(lots.recNo AS text) = key
WHERE resource = 'lots' AND type <> 'added'
  AND before ->> 'shipped' IS NULL
  AND (type = 'removed' OR after ->> 'shipped' IS NOT NULL);

-- The same for PostgreSQL:
SELECT key AS "recNo", at AS "left", extract(epoch FROM at::timestamptz
  - coalesce(before ->> 'received', received)::timestamptz) / 86400 AS days
FROM changes LEFT JOIN lots ON CAST(lots."recNo" AS text) = key
WHERE resource = 'lots' AND type <> 'added'
  AND before ->> 'shipped' IS NULL
  AND (type = 'removed' OR after ->> 'shipped' IS NOT NULL);
