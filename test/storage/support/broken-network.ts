import { connect, createServer, type Socket } from "node:net";

/** A TCP proxy in front of a database, which simulates failures of the network. */
export interface BrokenNetwork {
  /** The address of the database through the proxy. */
  url: string;
  /** From now on, nothing arrives, but connections stay open. */
  silence(): void;
  /** Cuts all connections as soon as the database has received this text. The reply does not arrive. */
  cutAfter(text: string): void;
  /** Cuts all connections. From now on, refuses new ones, like a server that is down or starting. */
  refuse(how: "down" | "starting"): Promise<void>;
  /** From now on, everything arrives again, on new connections. */
  repair(): Promise<void>;
  close(): Promise<void>;
}

/** The reply of a server that is starting. */
const STARTING = errorResponse("FATAL", "57P03", "the database system is starting up");

/** Returns an error message of the PostgreSQL protocol. */
function errorResponse(severity: string, code: string, message: string): Buffer {
  const fields = Buffer.from(`S${severity}\0V${severity}\0C${code}\0M${message}\0\0`);
  const head = Buffer.from("E\0\0\0\0");
  head.writeInt32BE(fields.length + 4, 1);
  return Buffer.concat([head, fields]);
}

export async function brokenNetwork(databaseUrl: string): Promise<BrokenNetwork> {
  const { hostname, port } = new URL(databaseUrl);
  const sockets = new Set<Socket>();
  let isSilent = false;
  let isStarting = false;
  let cutAfter: string | undefined;
  const server = createServer((client) => {
    if (isStarting) {
      client.on("error", () => {});
      client.once("data", () => client.end(STARTING));
      return;
    }
    const database = connect(Number(port), hostname);
    let isCut = false;
    for (const socket of [client, database]) {
      sockets.add(socket);
      socket.on("error", () => {});
      socket.on("close", () => {
        sockets.delete(socket);
        client.destroy();
        database.destroy();
      });
    }
    client.on("data", (data) => {
      if (isSilent) return;
      database.write(data);
      if (cutAfter === undefined || !data.includes(cutAfter)) return;
      isCut = true;
      cutAfter = undefined;
      setTimeout(() => client.destroy(), 100);
    });
    database.on("data", (data) => void (isSilent || isCut || client.write(data)));
  });
  const listen = (at: number) => new Promise<void>((resolve) => server.listen(at, "127.0.0.1", resolve));
  const cut = () => {
    for (const socket of sockets) socket.destroy();
    return new Promise((resolve) => server.close(resolve));
  };
  await listen(0);
  const address = server.address();
  const url = new URL(databaseUrl);
  url.port = String(typeof address === "object" ? address?.port : "");
  return {
    url: url.href,
    silence: () => {
      isSilent = true;
    },
    cutAfter: (text) => {
      cutAfter = text;
    },
    async refuse(how) {
      await cut();
      isStarting = how === "starting";
      if (isStarting) await listen(Number(url.port));
    },
    async repair() {
      await cut();
      isStarting = false;
      isSilent = false;
      await listen(Number(url.port));
    },
    close: async () => void (await cut()),
  };
}
