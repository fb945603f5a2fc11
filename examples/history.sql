-- Queries of the history of a copy: npx stocklot mirror --sqlite stock.db --history 90

-- The stock of an item at a time, not before `history.from`. SQLite and PostgreSQL:
WITH item AS (SELECT "partNo" FROM items WHERE "shortID" = 'BOLT-M8'),
later AS (
  SELECT before ->> 'inStock' AS was FROM changes
  WHERE resource = 'stockLevels' AND key = (SELECT CAST("partNo" AS text) FROM item)
    AND at > '2026-01-31T23:59:59.999Z'
    AND (type <> 'changed' OR before ->> 'inStock' IS NOT NULL)
  ORDER BY seq LIMIT 1
)
SELECT CASE
  WHEN EXISTS (SELECT 1 FROM later) THEN coalesce((SELECT CAST(was AS numeric) FROM later), 0)
  ELSE coalesce((SELECT "inStock" FROM stock_levels WHERE "partNo" = (SELECT "partNo" FROM item)), 0)
END AS "inStock";

-- What changed behind a row, for a program that stores the last `seq` that it has seen. SQLite and PostgreSQL:
SELECT seq, at, resource, key, type, before, after FROM changes WHERE seq > 3 ORDER BY seq;

-- How long lots stood until they were shipped or removed, in days. SQLite:
SELECT key AS "recNo", coalesce(before ->> 'received', received) AS received, at AS "left",
  julianday(at) - julianday(coalesce(before ->> 'received', received)) AS days
FROM changes LEFT JOIN lots ON CAST(lots.recNo AS text) = key
WHERE resource = 'lots' AND type <> 'added' AND before ->> 'shipped' IS NULL
  AND (type = 'removed' OR after ->> 'shipped' IS NOT NULL);

-- The same in PostgreSQL:
SELECT key AS "recNo", coalesce(before ->> 'received', received) AS received, at AS "left",
  extract(epoch FROM at::timestamptz - coalesce(before ->> 'received', received)::timestamptz) / 86400 AS days
FROM changes LEFT JOIN lots ON CAST(lots."recNo" AS text) = key
WHERE resource = 'lots' AND type <> 'added' AND before ->> 'shipped' IS NULL
  AND (type = 'removed' OR after ->> 'shipped' IS NOT NULL);
