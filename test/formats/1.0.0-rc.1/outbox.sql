CREATE TABLE stocklot_outbox_store (
  only INTEGER PRIMARY KEY CHECK (only = 1),
  id TEXT NOT NULL,
  service TEXT,
  version INTEGER NOT NULL
);
CREATE TABLE stocklot_outbox_entries (
  sequence INTEGER PRIMARY KEY AUTOINCREMENT,
  key TEXT NOT NULL UNIQUE,
  operation TEXT NOT NULL,
  lane TEXT NOT NULL,
  input TEXT,
  input_hash TEXT NOT NULL,
  added_at REAL NOT NULL,
  delivery TEXT,
  state TEXT NOT NULL DEFAULT 'pending',
  attempts INTEGER NOT NULL DEFAULT 0,
  body TEXT,
  sent_at REAL,
  clock_ahead_ms REAL,
  settled_at REAL,
  result TEXT,
  error TEXT
);
CREATE INDEX stocklot_outbox_by_lane ON stocklot_outbox_entries (lane, sequence);
CREATE INDEX stocklot_outbox_counted ON stocklot_outbox_entries (state, lane);
CREATE INDEX stocklot_outbox_to_send ON stocklot_outbox_entries (sequence)
  WHERE state IN ('pending', 'sending');
CREATE INDEX stocklot_outbox_unsettled ON stocklot_outbox_entries (lane, sequence)
  WHERE state IN ('pending', 'sending', 'unknown');
CREATE INDEX stocklot_outbox_of_delivery ON stocklot_outbox_entries (delivery, state) WHERE delivery IS NOT NULL;
CREATE TABLE stocklot_outbox_deliveries (
  name TEXT PRIMARY KEY,
  file TEXT NOT NULL,
  digest TEXT NOT NULL,
  lines INTEGER NOT NULL,
  begun_at REAL NOT NULL
) WITHOUT ROWID;
CREATE TABLE stocklot_outbox_lanes (
  lane TEXT PRIMARY KEY,
  owner TEXT,
  leased_until INTEGER,
  lease_ms INTEGER,
  quiet_until INTEGER,
  quiet_ms INTEGER
) WITHOUT ROWID;
INSERT INTO "stocklot_outbox_store" VALUES (1, 'c707f72f340894c87eb74a7624d3ac70', 'https://stocklot-sandbox.test/api/v1', 1);
INSERT INTO "stocklot_outbox_entries" VALUES (1, 'receive', 'receive', 'bolt', '{"itemID":"BOLT","units":1.5,"wid":3,"reasonCode":1}', 'd2d5b7c76bfbe8e54013e796348fe28959c7b2c7b73984a724392cf8b72b2eb5', 1795434022127.0, NULL, 'applied', 1, '{"itemID":"BOLT","units":1.5,"wid":3,"reasonCode":1}', 1795434022291.0, -281.0, 1795434022328.0, '{"recNo":100004,"body":{"recNo":100004,"status":"received"}}', NULL);
INSERT INTO "stocklot_outbox_entries" VALUES (2, 'move', 'move', 'nut', '{"itemID":"NUT","units":1,"wid":3,"fromSpot":"A-01","toSpot":"B-02"}', '3d3dd4b89e09c874a25244d9b84615a44e30bf734951a2d8703d7ac1398e301c', 1795434022128.0, NULL, 'applied', 1, '{"itemID":"NUT","units":1,"wid":3,"fromSpot":"A-01","toSpot":"B-02"}', 1795434022292.0, -282.0, 1795434022336.0, '{"recNo":100005,"body":{"recNo":100005,"status":"moved"}}', NULL);
INSERT INTO "stocklot_outbox_entries" VALUES (3, 'create', 'create', 'screw', '{"shortID":"SCREW","description":"new","category":1,"uOM":"EA"}', '29cc5ac40df7149222494509e47058aaaa9c29ff6d24ce78c7b66f0ce8a1f5fe', 1795434022129.0, NULL, 'applied', 1, '{"shortID":"SCREW","description":"new","category":1,"uOM":"EA"}', 1795434022292.0, -282.0, 1795434022339.0, '{"shortID":"SCREW","status":"created"}', NULL);
INSERT INTO "stocklot_outbox_entries" VALUES (4, 'update', 'update', 'nut', '{"shortID":"NUT","description":"changed"}', '06501a17c6ad4656220f8c7c1d557860e465d26689533d19ed05ed4a28dc2436', 1795434022129.0, NULL, 'applied', 1, '{"shortID":"NUT","description":"changed"}', 1795434022359.0, -327.0, 1795434022396.0, '{"shortID":"NUT","status":"updated"}', NULL);
INSERT INTO "stocklot_outbox_entries" VALUES (5, 'discontinue', 'discontinue', 'screw', '{"shortID":"SCREW"}', 'f886e8bdce1606c319e7b65433c7b50fb48e737a9d8de81fc5a126a1cc3bbcc5', 1795434022129.0, NULL, 'applied', 1, '{"shortID":"SCREW"}', 1795434022361.0, -328.0, 1795434022379.0, '{"shortID":"SCREW","status":"discontinued"}', NULL);
INSERT INTO "stocklot_outbox_entries" VALUES (6, 'rejected', 'receive', 'none', '{"itemID":"NONE","units":1,"wid":3,"reasonCode":1}', 'f9f4406ea744aa84dbacf1ad37bf33733d5cf6936d78a9953c430b8fb79289ca', 1795434022129.0, NULL, 'rejected', 1, '{"itemID":"NONE","units":1,"wid":3,"reasonCode":1}', 1795434022292.0, -282.0, 1795434022343.0, NULL, '{"name":"BadRequestError","message":"POST /Inventory/Receive: 400 Item NONE does not exist.","status":400,"serviceMessage":"Item NONE does not exist.","code":"bad_request","method":"POST","path":"/Inventory/Receive","headers":{"content-type":"application/json; charset=utf-8","date":"Mon, 23 Nov 2026 11:40:22 GMT"},"attempts":1}');
INSERT INTO "stocklot_outbox_entries" VALUES (7, 'unknown', 'issue', 'washer', '{"itemID":"WASHER","units":1,"wid":3,"reasonCode":1}', '0c64a8c0f0531af99a55b854f6691a58eae094f1b0906104f95dc2abab157c66', 1795434022130.0, NULL, 'unknown', 1, '{"itemID":"WASHER","units":1,"wid":3,"reasonCode":1}', 1795434022372.0, -328.0, NULL, NULL, '{"name":"OutcomeUnknownError","message":"The outcome is unknown: the service has no list of such transactions, so it cannot be looked up (POST /Inventory/Issue: the connection broke, 1 attempt (read ECONNRESET).). Check whether it was applied, then call outbox.resolve.","reason":"The outcome is unknown: the service has no list of such transactions, so it cannot be looked up (POST /Inventory/Issue: the connection broke, 1 attempt (read ECONNRESET).)."}');
INSERT INTO "stocklot_outbox_entries" VALUES (8, 'canceled', 'receive', 'bolt', '{"itemID":"BOLT","units":7,"wid":3,"reasonCode":1}', 'e73814712505ca17cb1ee74dde83455fc68fa774135f7079a5ead582dca7a14c', 1795434022434.0, NULL, 'canceled', 0, NULL, NULL, NULL, 1795434022439.0, NULL, NULL);
INSERT INTO "stocklot_outbox_entries" VALUES (9, 'pending', 'receive', 'bolt', '{"itemID":"BOLT","units":9,"wid":3,"reasonCode":1}', 'a39e813fb54060996237604c72450ed36c4152518827c6ac0ed54e34f1e18f06', 1795434022434.0, NULL, 'pending', 0, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO "stocklot_outbox_lanes" VALUES ('bolt', 'ca72ddef-f0e1-41f8-abae-7dbbb06a0c7d', 63209025, 0, NULL, NULL);
INSERT INTO "stocklot_outbox_lanes" VALUES ('none', 'ca72ddef-f0e1-41f8-abae-7dbbb06a0c7d', 63209036, 0, NULL, NULL);
INSERT INTO "stocklot_outbox_lanes" VALUES ('nut', 'ca72ddef-f0e1-41f8-abae-7dbbb06a0c7d', 63209084, 0, NULL, NULL);
INSERT INTO "stocklot_outbox_lanes" VALUES ('screw', 'ca72ddef-f0e1-41f8-abae-7dbbb06a0c7d', 63209081, 0, NULL, NULL);
INSERT INTO "stocklot_outbox_lanes" VALUES ('washer', 'ca72ddef-f0e1-41f8-abae-7dbbb06a0c7d', 63209095, 0, NULL, NULL);
