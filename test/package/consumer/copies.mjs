// Loads several copies of the package, and prints every error class that they treat differently.
import { createRequire } from "node:module";

const require = createRequire(import.meta.url);
const [entries, bundles] = process.argv.slice(2).map((list) => list.split(","));

/** Returns the modules that import() and require() load for these names. */
const load = async (...names) => [...(await Promise.all(names.map((name) => import(name)))), ...names.map(require)];

/** Returns the names of a class and its ancestors. It uses only prototypes, because `instanceof` is what is tested. */
function lineage(value) {
  const names = [];
  for (let one = value; typeof one === "function" && one !== Function.prototype; one = Object.getPrototypeOf(one)) {
    names.push(Object.hasOwn(one.prototype ?? {}, "name") ? one.prototype.name : one.name);
  }
  return names;
}

const copies = [...(await load(...entries)), ...bundles.map(require)]
  .map((copy) => Object.entries(copy).filter(([, value]) => lineage(value).includes("StocklotError")))
  .filter((classes) => classes.length > 0);

const breaches = [];
let checked = 0;
function check(what, is, should) {
  checked += 1;
  if (is !== should) breaches.push(`${what}: ${is}`);
}

for (const [here, classes] of copies.entries()) {
  for (const [name, errorClass] of classes) {
    const error = Object.create(errorClass.prototype);
    check(`the name of ${name}, copy ${here}`, error.name, name);
    check(`the name of the class ${name}, copy ${here}`, errorClass.name, name);
    for (const [there, others] of copies.entries()) {
      for (const [otherName, other] of others) {
        const what = `${name} of copy ${here}, ${otherName} of copy ${there}`;
        const should = lineage(errorClass).includes(otherName);
        check(`${what}, instanceof`, error instanceof other, should);
        check(`${what}, is`, other.is(error), should);
      }
    }
  }
}

// Each of these entry points throws error classes from its own bundle.
const refusals = [
  ...(await load("stocklot/redis")).map((entry) => () => entry.createRedisRateLimiter({ redis: {} })),
  ...(await load("stocklot/bottleneck")).map((entry) => () => entry.createBottleneckRateLimiter({})),
  ...(await load("stocklot/mirror")).map((entry) => () => entry.sqliteSink({})),
];
for (const refuse of refusals) {
  try {
    refuse();
    breaches.push(`not refused: ${refuse}`);
  } catch (error) {
    for (const { ConfigurationError, ConnectionError } of copies.map(Object.fromEntries)) {
      check("a refusal is a ConfigurationError", error instanceof ConfigurationError, true);
      check("a refusal is no ConnectionError", ConnectionError.is(error), false);
    }
  }
}

// A limiter of one copy may serve clients of the other.
const mains = await load("stocklot");
for (const { InventoryClient, TimeoutError } of mains) {
  for (const { createRateLimiter } of mains) {
    const rateLimiter = createRateLimiter({ requests: 1, intervalMs: 60_000 });
    const fetch = async () => Response.json({ access_token: "token" });
    const credentials = { baseUrl: "https://service.test/v1", clientId: "id", clientSecret: "secret" };
    const client = new InventoryClient({ ...credentials, fetch, rateLimiter });
    const error = await client.items.get("X", { totalTimeoutMs: 1_000 }).catch((thrown) => thrown);
    check(`no slot: ${error}`, error instanceof TimeoutError, true);
  }
}

console.log(JSON.stringify({ copies: copies.map((classes) => classes.length), checked, breaches }));
