/** Reads lots and handles an error, as the README shows, with the given copy of the package. */
exports.readLots = async ({ InventoryClient, NotFoundError, createSandbox }) => {
  const sandbox = createSandbox({ items: 20, lots: 300 });
  const server = await sandbox.listen({ port: 0 });
  const client = new InventoryClient({ baseUrl: server.url, ...sandbox.credentials });
  let lots = 0;
  for await (const lot of client.inventory.listLots()) lots += lot.recNo > 0 ? 1 : 0;
  const missing = await client.items.get("no such SKU").catch((error) => error);
  await client.close();
  await server.close();
  console.log(`${lots} lots, ${missing.name}: ${missing instanceof NotFoundError}`);
};
