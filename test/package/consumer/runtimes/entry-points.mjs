// Uses each entry point for its purpose. Each is imported when its turn comes. If a runtime cannot load it, or lacks something
// that it needs, the result contains the error.

/** Returns for each entry point "works" or the error. */
export async function useEntryPoints({ folder }) {
  const { InventoryClient } = await import("stocklot");
  const { createSandbox } = await import("stocklot/sandbox");
  const sandbox = createSandbox({ lots: 300 });
  const { baseUrl, credentials, fetch } = sandbox;
  const connect = (options) => new InventoryClient({ baseUrl, ...credentials, fetch, ...options });
  const readWith = async (options) => {
    const client = connect(options);
    const { shortID } = await client.items.get("BOLT-M8");
    await client.close();
    if (shortID !== "BOLT-M8") throw new Error(`not the item: ${shortID}`);
  };
  const copyInto = async (sink) => {
    const { createMirror } = await import("stocklot/mirror");
    const mirror = createMirror({ client: connect(), sink, resources: ["lots"] });
    const { added } = await mirror.run();
    if (added !== 300) throw new Error(`copied ${added} lots`);
  };

  const uses = {
    "stocklot/sandbox, fetch": () => readWith({}),
    "stocklot/sandbox, listen": async () => {
      const server = await sandbox.listen();
      await readWith({ baseUrl: server.url, fetch: undefined });
      await server.close();
    },
    "stocklot/bottleneck": async () => {
      const { createBottleneckRateLimiter } = await import("stocklot/bottleneck");
      const { default: Bottleneck } = await import("bottleneck");
      await readWith({ rateLimiter: createBottleneckRateLimiter(new Bottleneck({ maxConcurrent: 2 })) });
    },
    "stocklot/redis": async () => {
      const { createRedisRateLimiter, createRedisTokenStore } = await import("stocklot/redis");
      // Redis is unreachable, so the client sends nothing.
      const redis = { eval: () => Promise.reject(new Error("connect ECONNREFUSED")) };
      const reading = readWith({
        rateLimiter: createRedisRateLimiter({ redis, key: "acme", requests: 100 }),
        tokenStore: createRedisTokenStore({ redis, key: "acme" }),
      });
      const error = await reading.catch((reason) => reason);
      if (error?.name !== "ConnectionError" || error.applied !== "no") throw new Error(`not unreachable: ${error}`);
    },
    "stocklot/msw": async () => {
      const { getResponse } = await import("msw");
      const { sandboxHandlers } = await import("stocklot/msw");
      const response = await getResponse(sandboxHandlers(sandbox, baseUrl), new Request(`${baseUrl}/Item`));
      if (response?.status !== 401) throw new Error(`status ${response?.status}`);
    },
    "stocklot/mirror, SQLite": async () => {
      const { sqliteSink } = await import("stocklot/mirror");
      await copyInto(sqliteSink({ path: `${folder}/stock.db` }));
    },
    "stocklot/outbox, SQLite": async () => {
      const { createOutbox, sqliteOutboxStore } = await import("stocklot/outbox");
      const outbox = createOutbox({ client: connect(), store: sqliteOutboxStore({ path: `${folder}/outbox.db` }) });
      const input = { itemID: "BOLT-M8", units: 1, wid: 1, reasonCode: 1 };
      await outbox.add({ key: "1", operation: "receive", input });
      const { applied } = await outbox.run();
      await outbox.close();
      if (applied !== 1) throw new Error(`applied ${applied} writes`);
    },
    "stocklot/plan": async () => {
      const { planItems } = await import("stocklot/plan");
      const client = connect();
      const plan = await planItems({ client, desired: [{ shortID: "PLANNED", description: "planned" }] });
      const { applied } = await plan.apply({ client });
      if (applied !== 1) throw new Error(`applied ${applied} writes`);
    },
    "stocklot/opentelemetry": async () => {
      const { instrumentStocklot } = await import("stocklot/opentelemetry");
      const stop = instrumentStocklot();
      await readWith({});
      stop();
    },
  };
  const results = {};
  for (const [name, use] of Object.entries(uses)) {
    results[name] = await use().then(
      () => "works",
      (error) => `${error?.name}: ${error?.message} ${error?.cause?.message ?? ""}`,
    );
  }
  return results;
}
