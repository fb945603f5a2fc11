CREATE SCHEMA stocklot_formats;
CREATE TABLE stocklot_formats.changes (
    seq bigint NOT NULL,
    at text NOT NULL,
    resource text NOT NULL,
    key text NOT NULL,
    type text NOT NULL,
    before json,
    after json
);
CREATE TABLE stocklot_formats.items (
    "partNo" bigint NOT NULL,
    "shortID" text,
    description text,
    category bigint,
    "subCategory" bigint,
    "uOM" text,
    "putUp" text,
    units numeric,
    "dfltOwner" bigint,
    created text,
    modified text,
    discontinued boolean,
    extra json DEFAULT '{}'::json NOT NULL
);
CREATE TABLE stocklot_formats.lots (
    "recNo" bigint NOT NULL,
    "partNo" bigint,
    "shortID" text,
    description text,
    associate text,
    warehouse text,
    "wID" bigint,
    spot text,
    units numeric,
    received text,
    shipped text,
    serial text,
    serial2 text,
    "rFIDTag" text,
    remark text,
    hold boolean,
    "jobID" bigint,
    "jobName" text,
    active boolean,
    extra json DEFAULT '{}'::json NOT NULL
);
CREATE TABLE stocklot_formats.stocklot_status (
    id smallint NOT NULL,
    status json,
    CONSTRAINT stocklot_status_id_check CHECK ((id = 1))
);
CREATE VIEW stocklot_formats.mirror_status AS
 SELECT "row".resource,
    "row".mirrored,
    "row".complete,
    "row".records,
    "row"."asOf",
    ((EXTRACT(epoch FROM (now() - ("row"."asOf")::timestamp with time zone)) * (1000)::numeric))::bigint AS "lagMs",
    "row"."awaitsFullPass",
    "row".missing,
    "row"."lastRunStartedAt",
    "row"."lastRunEndedAt",
    "row"."lastRunKind",
    "row"."lastRunError"
   FROM stocklot_formats.stocklot_status,
    LATERAL json_to_recordset(stocklot_status.status) "row"(resource text, mirrored boolean, complete boolean, records bigint, "asOf" text, "awaitsFullPass" boolean, missing bigint, "lastRunStartedAt" text, "lastRunEndedAt" text, "lastRunKind" text, "lastRunError" text);
CREATE TABLE stocklot_formats.stock_levels (
    "partNo" bigint NOT NULL,
    available numeric,
    "inStock" numeric,
    "onOrder" numeric,
    "onHold" numeric,
    committed numeric,
    packed numeric,
    "aSN" numeric,
    extra json DEFAULT '{}'::json NOT NULL
);
CREATE VIEW stocklot_formats.stock AS
 SELECT levels."partNo",
    items."shortID",
    items.description,
    levels.available,
    levels."inStock",
    levels."onOrder",
    levels."onHold",
    levels.committed,
    levels.packed,
    levels."aSN"
   FROM (stocklot_formats.stock_levels levels
     LEFT JOIN stocklot_formats.items items ON ((items."partNo" = levels."partNo")));
CREATE TABLE stocklot_formats.stocklot_state (
    id smallint NOT NULL,
    state text,
    CONSTRAINT stocklot_state_id_check CHECK ((id = 1))
);
CREATE TABLE stocklot_formats.warehouse_stock_levels (
    "wID" bigint NOT NULL,
    "partNo" bigint NOT NULL,
    available numeric,
    "inStock" numeric,
    "onOrder" numeric,
    "onHold" numeric,
    committed numeric,
    packed numeric,
    "aSN" numeric,
    extra json DEFAULT '{}'::json NOT NULL
);
INSERT INTO stocklot_formats.changes VALUES (1, '2026-11-23T11:40:23.193Z', 'items', '1002', 'changed', '{"description":"item NUT","modified":"2026-11-23T11:40:22.987Z"}', '{"description":"changed","modified":"2026-11-23T11:40:23.159Z"}');
INSERT INTO stocklot_formats.changes VALUES (2, '2026-11-23T11:40:23.237Z', 'lots', '100002', 'changed', '{"description":"item NUT"}', '{"description":"changed"}');
INSERT INTO stocklot_formats.items VALUES (1001, 'BOLT', 'item BOLT', 1, 0, 'EA', '', 1, 0, '2026-11-23T11:40:22.987Z', '2026-11-23T11:40:22.987Z', false, '{}');
INSERT INTO stocklot_formats.items VALUES (1003, 'WASHER', 'item WASHER', 1, 0, 'EA', '', 1, 0, '2026-11-23T11:40:22.987Z', '2026-11-23T11:40:22.987Z', false, '{}');
INSERT INTO stocklot_formats.items VALUES (1002, 'NUT', 'changed', 1, 0, 'EA', '', 1, 0, '2026-11-23T11:40:22.987Z', '2026-11-23T11:40:23.159Z', false, '{}');
INSERT INTO stocklot_formats.lots VALUES (100001, 1001, 'BOLT', 'item BOLT', '', 'South', 3, 'A-01', 100, '2026-01-02T03:04:05.678Z', NULL, '', NULL, NULL, '', false, 0, NULL, true, '{}');
INSERT INTO stocklot_formats.lots VALUES (100003, 1003, 'WASHER', 'item WASHER', '', 'South', 3, 'A-01', 102, '2026-01-02T03:04:05.678Z', NULL, '', NULL, NULL, '', false, 0, NULL, true, '{}');
INSERT INTO stocklot_formats.lots VALUES (100002, 1002, 'NUT', 'changed', '', 'South', 3, 'A-01', 101, '2026-01-02T03:04:05.678Z', NULL, '', NULL, NULL, '', false, 0, NULL, true, '{}');
INSERT INTO stocklot_formats.stock_levels VALUES (1001, 100, 100, 0, 0, 0, 0, 0, '{}');
INSERT INTO stocklot_formats.stock_levels VALUES (1002, 101, 101, 0, 0, 0, 0, 0, '{}');
INSERT INTO stocklot_formats.stock_levels VALUES (1003, 102, 102, 0, 0, 0, 0, 0, '{}');
INSERT INTO stocklot_formats.stocklot_state VALUES (1, '{"version":1,"service":"https://stocklot-sandbox.test/api/v1","account":"sandbox-client","mirrored":["items","lots","stockLevels"],"lists":{"items":{"count":3,"lacking":0,"asOf":1795434023186,"lastPass":{"endedAt":1795434023058,"durationMs":15.237109000000146,"shortage":0,"unlisted":0},"increments":{"support":"honoured","since":1795434022999,"newestModified":1795434023159,"modifiedLagMs":0},"sizes":[[20780,3]]},"lots":{"count":3,"lacking":0,"asOf":1795434023234,"lastPass":{"endedAt":1795434023239,"durationMs":6.71300199999996,"shortage":0,"unlisted":0},"increments":{"support":"honoured","since":1795434022999},"sizes":[[20780,3]]},"stockLevels":{"count":3,"lacking":0,"asOf":1795434023215,"lastPass":{"endedAt":1795434023133,"durationMs":13.701714000000266,"shortage":0,"unlisted":0},"increments":{"support":"honoured","since":1795434022999},"sizes":[[20780,3]]}},"lastRun":{"startedAt":1795434023160,"endedAt":1795434023245,"kind":"full"},"history":{"days":3650,"seq":2,"delivered":0,"from":{"items":1795434023058,"lots":1795434023097,"stockLevels":1795434023133}}}');
INSERT INTO stocklot_formats.stocklot_status VALUES (1, '[{"resource":"items","mirrored":true,"complete":true,"records":3,"awaitsFullPass":false,"missing":0,"asOf":"2026-11-23T11:40:23.186Z","lastRunStartedAt":"2026-11-23T11:40:23.160Z","lastRunEndedAt":"2026-11-23T11:40:23.245Z","lastRunKind":"full","lastRunError":null},{"resource":"lots","mirrored":true,"complete":true,"records":3,"awaitsFullPass":false,"missing":0,"asOf":"2026-11-23T11:40:23.234Z","lastRunStartedAt":"2026-11-23T11:40:23.160Z","lastRunEndedAt":"2026-11-23T11:40:23.245Z","lastRunKind":"full","lastRunError":null},{"resource":"stockLevels","mirrored":true,"complete":true,"records":3,"awaitsFullPass":false,"missing":0,"asOf":"2026-11-23T11:40:23.215Z","lastRunStartedAt":"2026-11-23T11:40:23.160Z","lastRunEndedAt":"2026-11-23T11:40:23.245Z","lastRunKind":"full","lastRunError":null}]');
ALTER TABLE ONLY stocklot_formats.changes
    ADD CONSTRAINT changes_pkey PRIMARY KEY (seq);
ALTER TABLE ONLY stocklot_formats.items
    ADD CONSTRAINT items_pkey PRIMARY KEY ("partNo");
ALTER TABLE ONLY stocklot_formats.lots
    ADD CONSTRAINT lots_pkey PRIMARY KEY ("recNo");
ALTER TABLE ONLY stocklot_formats.stock_levels
    ADD CONSTRAINT stock_levels_pkey PRIMARY KEY ("partNo");
ALTER TABLE ONLY stocklot_formats.stocklot_state
    ADD CONSTRAINT stocklot_state_pkey PRIMARY KEY (id);
ALTER TABLE ONLY stocklot_formats.stocklot_status
    ADD CONSTRAINT stocklot_status_pkey PRIMARY KEY (id);
ALTER TABLE ONLY stocklot_formats.warehouse_stock_levels
    ADD CONSTRAINT warehouse_stock_levels_pkey PRIMARY KEY ("wID", "partNo");
CREATE INDEX stocklot_changes_key ON stocklot_formats.changes USING btree (key, resource);
CREATE INDEX "stocklot_items_category_partNo" ON stocklot_formats.items USING btree (category, "partNo");
CREATE INDEX "stocklot_items_shortID" ON stocklot_formats.items USING btree ("shortID");
CREATE INDEX stocklot_items_sku ON stocklot_formats.items USING btree (lower((btrim("shortID") COLLATE "C")));
CREATE INDEX "stocklot_lots_partNo" ON stocklot_formats.lots USING btree ("partNo");
CREATE INDEX "stocklot_lots_rFIDTag" ON stocklot_formats.lots USING btree ("rFIDTag");
CREATE INDEX stocklot_lots_serial ON stocklot_formats.lots USING btree (serial);
CREATE INDEX "stocklot_lots_shortID" ON stocklot_formats.lots USING btree ("shortID");
CREATE INDEX stocklot_lots_sku ON stocklot_formats.lots USING btree (lower((btrim("shortID") COLLATE "C")));
CREATE INDEX stocklot_lots_spot ON stocklot_formats.lots USING btree (spot);
CREATE INDEX "stocklot_lots_wID_recNo" ON stocklot_formats.lots USING btree ("wID", "recNo");
CREATE INDEX "stocklot_lots_wID_spot" ON stocklot_formats.lots USING btree ("wID", spot);
