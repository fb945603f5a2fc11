CREATE SCHEMA stocklot_formats;
CREATE TABLE stocklot_formats.stocklot_outbox_deliveries (
    name text NOT NULL COLLATE pg_catalog."C",
    file text NOT NULL,
    digest text NOT NULL,
    lines integer NOT NULL,
    begun_at double precision NOT NULL
);
CREATE TABLE stocklot_formats.stocklot_outbox_entries (
    sequence bigint NOT NULL,
    key text NOT NULL COLLATE pg_catalog."C",
    operation text NOT NULL,
    lane text NOT NULL COLLATE pg_catalog."C",
    input text,
    input_hash text NOT NULL,
    added_at double precision NOT NULL,
    delivery text COLLATE pg_catalog."C",
    state text DEFAULT 'pending'::text NOT NULL,
    attempts integer DEFAULT 0 NOT NULL,
    body text,
    sent_at double precision,
    clock_ahead_ms double precision,
    settled_at double precision,
    result text,
    error text
);
ALTER TABLE stocklot_formats.stocklot_outbox_entries ALTER COLUMN sequence ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME stocklot_formats.stocklot_outbox_entries_sequence_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE stocklot_formats.stocklot_outbox_lanes (
    lane text NOT NULL COLLATE pg_catalog."C",
    owner text,
    leased_until timestamp with time zone,
    quiet_until timestamp with time zone
)
WITH (fillfactor='50');
CREATE TABLE stocklot_formats.stocklot_outbox_store (
    only_row smallint NOT NULL,
    id text NOT NULL,
    service text,
    version integer NOT NULL,
    CONSTRAINT stocklot_outbox_store_only_row_check CHECK ((only_row = 1))
);
INSERT INTO stocklot_formats.stocklot_outbox_entries OVERRIDING SYSTEM VALUE VALUES (1, 'receive', 'receive', 'bolt', '{"itemID":"BOLT","units":1.5,"wid":3,"reasonCode":1}', 'd2d5b7c76bfbe8e54013e796348fe28959c7b2c7b73984a724392cf8b72b2eb5', 1795434022530, NULL, 'applied', 1, '{"itemID":"BOLT","units":1.5,"wid":3,"reasonCode":1}', 1795434022582, -582, 1795434022608, '{"recNo":100004,"body":{"recNo":100004,"status":"received"}}', NULL);
INSERT INTO stocklot_formats.stocklot_outbox_entries OVERRIDING SYSTEM VALUE VALUES (2, 'move', 'move', 'nut', '{"itemID":"NUT","units":1,"wid":3,"fromSpot":"A-01","toSpot":"B-02"}', '3d3dd4b89e09c874a25244d9b84615a44e30bf734951a2d8703d7ac1398e301c', 1795434022530, NULL, 'applied', 1, '{"itemID":"NUT","units":1,"wid":3,"fromSpot":"A-01","toSpot":"B-02"}', 1795434022582, -582, 1795434022612, '{"recNo":100005,"body":{"recNo":100005,"status":"moved"}}', NULL);
INSERT INTO stocklot_formats.stocklot_outbox_entries OVERRIDING SYSTEM VALUE VALUES (6, 'rejected', 'receive', 'none', '{"itemID":"NONE","units":1,"wid":3,"reasonCode":1}', 'f9f4406ea744aa84dbacf1ad37bf33733d5cf6936d78a9953c430b8fb79289ca', 1795434022531, NULL, 'rejected', 1, '{"itemID":"NONE","units":1,"wid":3,"reasonCode":1}', 1795434022583, -582, 1795434022617, NULL, '{"name":"BadRequestError","message":"POST /Inventory/Receive: 400 Item NONE does not exist.","status":400,"serviceMessage":"Item NONE does not exist.","code":"bad_request","method":"POST","path":"/Inventory/Receive","headers":{"content-type":"application/json; charset=utf-8","date":"Mon, 23 Nov 2026 11:40:22 GMT"},"attempts":1}');
INSERT INTO stocklot_formats.stocklot_outbox_entries OVERRIDING SYSTEM VALUE VALUES (3, 'create', 'create', 'screw', '{"shortID":"SCREW","description":"new","category":1,"uOM":"EA"}', '29cc5ac40df7149222494509e47058aaaa9c29ff6d24ce78c7b66f0ce8a1f5fe', 1795434022530, NULL, 'applied', 1, '{"shortID":"SCREW","description":"new","category":1,"uOM":"EA"}', 1795434022582, -582, 1795434022622, '{"shortID":"SCREW","status":"created"}', NULL);
INSERT INTO stocklot_formats.stocklot_outbox_entries OVERRIDING SYSTEM VALUE VALUES (4, 'update', 'update', 'nut', '{"shortID":"NUT","description":"changed"}', '06501a17c6ad4656220f8c7c1d557860e465d26689533d19ed05ed4a28dc2436', 1795434022530, NULL, 'applied', 1, '{"shortID":"NUT","description":"changed"}', 1795434022632, -622, 1795434022639, '{"shortID":"NUT","status":"updated"}', NULL);
INSERT INTO stocklot_formats.stocklot_outbox_entries OVERRIDING SYSTEM VALUE VALUES (5, 'discontinue', 'discontinue', 'screw', '{"shortID":"SCREW"}', 'f886e8bdce1606c319e7b65433c7b50fb48e737a9d8de81fc5a126a1cc3bbcc5', 1795434022530, NULL, 'applied', 1, '{"shortID":"SCREW"}', 1795434022637, -622, 1795434022645, '{"shortID":"SCREW","status":"discontinued"}', NULL);
INSERT INTO stocklot_formats.stocklot_outbox_entries OVERRIDING SYSTEM VALUE VALUES (7, 'unknown', 'issue', 'washer', '{"itemID":"WASHER","units":1,"wid":3,"reasonCode":1}', '0c64a8c0f0531af99a55b854f6691a58eae094f1b0906104f95dc2abab157c66', 1795434022531, NULL, 'unknown', 1, '{"itemID":"WASHER","units":1,"wid":3,"reasonCode":1}', 1795434022641, -639, NULL, NULL, '{"name":"OutcomeUnknownError","message":"The outcome is unknown: the service has no list of such transactions, so it cannot be looked up (POST /Inventory/Issue: the connection broke, 1 attempt (read ECONNRESET).). Check whether it was applied, then call outbox.resolve.","reason":"The outcome is unknown: the service has no list of such transactions, so it cannot be looked up (POST /Inventory/Issue: the connection broke, 1 attempt (read ECONNRESET).)."}');
INSERT INTO stocklot_formats.stocklot_outbox_entries OVERRIDING SYSTEM VALUE VALUES (9, 'pending', 'receive', 'bolt', '{"itemID":"BOLT","units":9,"wid":3,"reasonCode":1}', 'a39e813fb54060996237604c72450ed36c4152518827c6ac0ed54e34f1e18f06', 1795434022669, NULL, 'pending', 0, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO stocklot_formats.stocklot_outbox_entries OVERRIDING SYSTEM VALUE VALUES (8, 'canceled', 'receive', 'bolt', '{"itemID":"BOLT","units":7,"wid":3,"reasonCode":1}', 'e73814712505ca17cb1ee74dde83455fc68fa774135f7079a5ead582dca7a14c', 1795434022669, NULL, 'canceled', 0, NULL, NULL, NULL, 1795434022671, NULL, NULL);
INSERT INTO stocklot_formats.stocklot_outbox_lanes VALUES ('bolt', 'f446d20f-9460-4cf7-b152-6287ce00a250', '2026-11-23 11:40:22.628283+00', NULL);
INSERT INTO stocklot_formats.stocklot_outbox_lanes VALUES ('none', 'f446d20f-9460-4cf7-b152-6287ce00a250', '2026-11-23 11:40:22.634534+00', NULL);
INSERT INTO stocklot_formats.stocklot_outbox_lanes VALUES ('screw', 'f446d20f-9460-4cf7-b152-6287ce00a250', '2026-11-23 11:40:22.65743+00', NULL);
INSERT INTO stocklot_formats.stocklot_outbox_lanes VALUES ('nut', 'f446d20f-9460-4cf7-b152-6287ce00a250', '2026-11-23 11:40:22.658156+00', NULL);
INSERT INTO stocklot_formats.stocklot_outbox_lanes VALUES ('washer', 'f446d20f-9460-4cf7-b152-6287ce00a250', '2026-11-23 11:40:22.664978+00', NULL);
INSERT INTO stocklot_formats.stocklot_outbox_store VALUES (1, '04d81e27ca16580053c03e01196df6de', 'https://stocklot-sandbox.test/api/v1', 1);
SELECT pg_catalog.setval('stocklot_formats.stocklot_outbox_entries_sequence_seq', 9, true);
ALTER TABLE ONLY stocklot_formats.stocklot_outbox_deliveries
    ADD CONSTRAINT stocklot_outbox_deliveries_pkey PRIMARY KEY (name);
ALTER TABLE ONLY stocklot_formats.stocklot_outbox_entries
    ADD CONSTRAINT stocklot_outbox_entries_key_key UNIQUE (key);
ALTER TABLE ONLY stocklot_formats.stocklot_outbox_entries
    ADD CONSTRAINT stocklot_outbox_entries_pkey PRIMARY KEY (sequence);
ALTER TABLE ONLY stocklot_formats.stocklot_outbox_lanes
    ADD CONSTRAINT stocklot_outbox_lanes_pkey PRIMARY KEY (lane);
ALTER TABLE ONLY stocklot_formats.stocklot_outbox_store
    ADD CONSTRAINT stocklot_outbox_store_pkey PRIMARY KEY (only_row);
CREATE INDEX stocklot_outbox_by_lane ON stocklot_formats.stocklot_outbox_entries USING btree (lane, sequence);
CREATE INDEX stocklot_outbox_counted ON stocklot_formats.stocklot_outbox_entries USING btree (state, lane);
CREATE INDEX stocklot_outbox_of_delivery ON stocklot_formats.stocklot_outbox_entries USING btree (delivery, state) WHERE (delivery IS NOT NULL);
CREATE INDEX stocklot_outbox_to_send ON stocklot_formats.stocklot_outbox_entries USING btree (sequence) WHERE (state = ANY (ARRAY['pending'::text, 'sending'::text]));
CREATE INDEX stocklot_outbox_unsettled ON stocklot_formats.stocklot_outbox_entries USING btree (lane, sequence) WHERE (state = ANY (ARRAY['pending'::text, 'sending'::text, 'unknown'::text]));
