// Prints whether an error of one entry point hides the secrets of a client that another entry point has created.
async function report(load) {
  const { InventoryClient, ConfigurationError } = await load("stocklot");
  const { createRedisRateLimiter } = await load("stocklot/redis");
  const clientSecret = "s3cret-of-a-client";
  const client = new InventoryClient({ baseUrl: "https://localhost/api/v1", clientId: "id", clientSecret });
  try {
    createRedisRateLimiter({ redis: { eval() {}, evalsha() {} }, [clientSecret]: 1 });
  } catch (error) {
    return { isSameClass: error.constructor === ConfigurationError, isRedacted: !error.message.includes(clientSecret) };
  } finally {
    await client.close();
  }
}

const required = (name) => require(name);
const imported = (name) => import(name);
Promise.all([report(required), report(imported)]).then((reports) => console.log(JSON.stringify(reports)));
