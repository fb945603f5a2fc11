/** Finds a Redis for examples/cluster: the server that REDIS_URL names, or a private server that ends with the program. */
import { type ChildProcess, spawn } from "node:child_process";
import { createServer } from "node:net";
import { Redis } from "ioredis";

export interface ExampleRedis {
  url: string;
  close(): Promise<void>;
}

export async function startRedis(): Promise<ExampleRedis | undefined> {
  const given = process.env.REDIS_URL;
  if (given) return { url: given, close: async () => {} };
  const port = await freePort();
  const child = spawn("redis-server", ["--port", `${port}`, "--bind", "127.0.0.1", "--save", ""], { stdio: "ignore" });
  if (!(await hasStarted(child))) return undefined;
  const url = `redis://127.0.0.1:${port}`;
  const redis = new Redis(url, { lazyConnect: true, maxRetriesPerRequest: 50 });
  redis.on("error", () => {});
  await redis.ping();
  redis.disconnect();
  return {
    url,
    close: () =>
      new Promise((resolve) => {
        child.once("exit", () => resolve());
        child.kill();
      }),
  };
}

function hasStarted(child: ChildProcess): Promise<boolean> {
  return new Promise((resolve) => {
    child.once("spawn", () => resolve(true));
    child.once("error", () => resolve(false));
  });
}

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const address = server.address();
      server.close(() => resolve(typeof address === "object" && address ? address.port : 0));
    });
  });
}
