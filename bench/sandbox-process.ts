/** A sandbox without a rate limit, in a separate process: `sandbox-process.ts <lots>`. Sends its address to its parent. */
import { createSandbox } from "../src/sandbox/index.js";

const sandbox = createSandbox({ items: 1_000, lots: Number(process.argv[2]), rateLimit: false });
const server = await sandbox.listen({ port: 0 });
process.send?.({ baseUrl: server.url, ...sandbox.credentials });
process.once("disconnect", () => process.exit());
