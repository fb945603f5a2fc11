CREATE TABLE stocklot_state (id INTEGER PRIMARY KEY CHECK (id = 1), state TEXT NOT NULL);
CREATE TABLE stocklot_status (id INTEGER PRIMARY KEY CHECK (id = 1), status TEXT NOT NULL);
CREATE TABLE "items" (
    "partNo" INTEGER,"shortID" TEXT,"description" TEXT,"category" INTEGER,"subCategory" INTEGER,"uOM" TEXT,"putUp" TEXT,"units" REAL,"dfltOwner" INTEGER,"created" TEXT,"modified" TEXT,"discontinued" INTEGER,
    extra TEXT NOT NULL DEFAULT '{}',
    PRIMARY KEY ("partNo"));
CREATE TABLE "lots" (
    "recNo" INTEGER,"partNo" INTEGER,"shortID" TEXT,"description" TEXT,"associate" TEXT,"warehouse" TEXT,"wID" INTEGER,"spot" TEXT,"units" REAL,"received" TEXT,"shipped" TEXT,"serial" TEXT,"serial2" TEXT,"rFIDTag" TEXT,"remark" TEXT,"hold" INTEGER,"jobID" INTEGER,"jobName" TEXT,"active" INTEGER,
    extra TEXT NOT NULL DEFAULT '{}',
    PRIMARY KEY ("recNo"));
CREATE TABLE "stock_levels" (
    "partNo" INTEGER,"available" REAL,"inStock" REAL,"onOrder" REAL,"onHold" REAL,"committed" REAL,"packed" REAL,"aSN" REAL,
    extra TEXT NOT NULL DEFAULT '{}',
    PRIMARY KEY ("partNo"));
CREATE TABLE "warehouse_stock_levels" (
    "wID" INTEGER,"partNo" INTEGER,"available" REAL,"inStock" REAL,"onOrder" REAL,"onHold" REAL,"committed" REAL,"packed" REAL,"aSN" REAL,
    extra TEXT NOT NULL DEFAULT '{}',
    PRIMARY KEY ("wID","partNo"));
CREATE VIEW stock AS 
SELECT levels."partNo", items."shortID", items."description", levels."available",levels."inStock",levels."onOrder",levels."onHold",levels."committed",levels."packed",levels."aSN"
FROM "stock_levels" AS levels LEFT JOIN "items" AS items ON items."partNo" = levels."partNo";
CREATE VIEW mirror_status AS
SELECT
  row.value ->> 'resource' AS "resource",
  row.value ->> 'mirrored' AS "mirrored",
  row.value ->> 'complete' AS "complete",
  row.value ->> 'records' AS "records",
  row.value ->> 'asOf' AS "asOf",
  CAST(ROUND((julianday('now') - julianday(row.value ->> 'asOf')) * 86400000) AS INTEGER) AS "lagMs",
  row.value ->> 'awaitsFullPass' AS "awaitsFullPass",
  row.value ->> 'missing' AS "missing",
  row.value ->> 'lastRunStartedAt' AS "lastRunStartedAt",
  row.value ->> 'lastRunEndedAt' AS "lastRunEndedAt",
  row.value ->> 'lastRunKind' AS "lastRunKind",
  row.value ->> 'lastRunError' AS "lastRunError"
FROM stocklot_status, json_each(stocklot_status.status) AS row;
CREATE TABLE "changes" ("seq" INTEGER PRIMARY KEY, "at" TEXT NOT NULL,
  "resource" TEXT NOT NULL, "key" TEXT NOT NULL, "type" TEXT NOT NULL, "before" TEXT, "after" TEXT);
CREATE INDEX "stocklot_changes_key" ON "changes" ("key", "resource");
CREATE INDEX "stocklot_items_shortID" ON "items" ("shortID");
CREATE INDEX "stocklot_items_sku" ON "items" (lower(trim("shortID")));
CREATE INDEX "stocklot_items_category_partNo" ON "items" ("category","partNo");
CREATE INDEX "stocklot_lots_partNo" ON "lots" ("partNo");
CREATE INDEX "stocklot_lots_shortID" ON "lots" ("shortID");
CREATE INDEX "stocklot_lots_sku" ON "lots" (lower(trim("shortID")));
CREATE INDEX "stocklot_lots_wID_recNo" ON "lots" ("wID","recNo");
CREATE INDEX "stocklot_lots_wID_spot" ON "lots" ("wID","spot");
CREATE INDEX "stocklot_lots_spot" ON "lots" ("spot");
CREATE INDEX "stocklot_lots_serial" ON "lots" ("serial");
CREATE INDEX "stocklot_lots_rFIDTag" ON "lots" ("rFIDTag");
INSERT INTO "stocklot_state" VALUES (1, '{"version":1,"service":"https://stocklot-sandbox.test/api/v1","account":"sandbox-client","mirrored":["items","lots","stockLevels"],"lists":{"items":{"count":3,"lacking":0,"asOf":1795434022910,"lastPass":{"endedAt":1795434022853,"durationMs":27.53892900000028,"shortage":0,"unlisted":0},"increments":{"support":"honoured","since":1795434021995,"newestModified":1795434022888,"modifiedLagMs":0},"sizes":[[20780,3]]},"lots":{"count":3,"lacking":0,"asOf":1795434022941,"lastPass":{"endedAt":1795434022942,"durationMs":1.5722200000000157,"shortage":0,"unlisted":0},"increments":{"support":"honoured","since":1795434021999},"sizes":[[20780,3]]},"stockLevels":{"count":3,"lacking":0,"asOf":1795434022934,"lastPass":{"endedAt":1795434022881,"durationMs":7.984475000000202,"shortage":0,"unlisted":0},"increments":{"support":"honoured","since":1795434021999},"sizes":[[20780,3]]}},"lastRun":{"startedAt":1795434022889,"endedAt":1795434022953,"kind":"full"},"history":{"days":3650,"seq":2,"delivered":0,"from":{"items":1795434022853,"lots":1795434022871,"stockLevels":1795434022881}}}');
INSERT INTO "stocklot_status" VALUES (1, '[{"resource":"items","mirrored":true,"complete":true,"records":3,"awaitsFullPass":false,"missing":0,"asOf":"2026-11-23T11:40:22.910Z","lastRunStartedAt":"2026-11-23T11:40:22.889Z","lastRunEndedAt":"2026-11-23T11:40:22.953Z","lastRunKind":"full","lastRunError":null},{"resource":"lots","mirrored":true,"complete":true,"records":3,"awaitsFullPass":false,"missing":0,"asOf":"2026-11-23T11:40:22.941Z","lastRunStartedAt":"2026-11-23T11:40:22.889Z","lastRunEndedAt":"2026-11-23T11:40:22.953Z","lastRunKind":"full","lastRunError":null},{"resource":"stockLevels","mirrored":true,"complete":true,"records":3,"awaitsFullPass":false,"missing":0,"asOf":"2026-11-23T11:40:22.934Z","lastRunStartedAt":"2026-11-23T11:40:22.889Z","lastRunEndedAt":"2026-11-23T11:40:22.953Z","lastRunKind":"full","lastRunError":null}]');
INSERT INTO "items" VALUES (1001, 'BOLT', 'item BOLT', 1, 0, 'EA', '', 1.0, 0, '2026-11-23T11:40:22.789Z', '2026-11-23T11:40:22.789Z', 0, '{}');
INSERT INTO "items" VALUES (1002, 'NUT', 'changed', 1, 0, 'EA', '', 1.0, 0, '2026-11-23T11:40:22.789Z', '2026-11-23T11:40:22.888Z', 0, '{}');
INSERT INTO "items" VALUES (1003, 'WASHER', 'item WASHER', 1, 0, 'EA', '', 1.0, 0, '2026-11-23T11:40:22.789Z', '2026-11-23T11:40:22.789Z', 0, '{}');
INSERT INTO "lots" VALUES (100001, 1001, 'BOLT', 'item BOLT', '', 'South', 3, 'A-01', 100.0, '2026-01-02T03:04:05.678Z', NULL, '', NULL, NULL, '', 0, 0, NULL, 1, '{}');
INSERT INTO "lots" VALUES (100002, 1002, 'NUT', 'changed', '', 'South', 3, 'A-01', 101.0, '2026-01-02T03:04:05.678Z', NULL, '', NULL, NULL, '', 0, 0, NULL, 1, '{}');
INSERT INTO "lots" VALUES (100003, 1003, 'WASHER', 'item WASHER', '', 'South', 3, 'A-01', 102.0, '2026-01-02T03:04:05.678Z', NULL, '', NULL, NULL, '', 0, 0, NULL, 1, '{}');
INSERT INTO "stock_levels" VALUES (1001, 100.0, 100.0, 0.0, 0.0, 0.0, 0.0, 0.0, '{}');
INSERT INTO "stock_levels" VALUES (1002, 101.0, 101.0, 0.0, 0.0, 0.0, 0.0, 0.0, '{}');
INSERT INTO "stock_levels" VALUES (1003, 102.0, 102.0, 0.0, 0.0, 0.0, 0.0, 0.0, '{}');
INSERT INTO "changes" VALUES (1, '2026-11-23T11:40:22.917Z', 'items', '1002', 'changed', '{"description":"item NUT","modified":"2026-11-23T11:40:22.789Z"}', '{"description":"changed","modified":"2026-11-23T11:40:22.888Z"}');
INSERT INTO "changes" VALUES (2, '2026-11-23T11:40:22.942Z', 'lots', '100002', 'changed', '{"description":"item NUT"}', '{"description":"changed"}');
