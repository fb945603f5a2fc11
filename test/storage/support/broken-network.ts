import { connect, createServer, type Socket } from "node:net";

/** A TCP proxy in front of a database, whose network can fail. */
export interface BrokenNetwork {
  /** The address of the database through the proxy. */
  url: string;
  /** From now on nothing arrives any more, and nobody notices. */
  silence(): void;
  /** Cuts all connections as soon as the database has received this text; its reply does not arrive. */
  cutAfter(text: string): void;
  close(): Promise<void>;
}

export async function brokenNetwork(databaseUrl: string): Promise<BrokenNetwork> {
  const { hostname, port } = new URL(databaseUrl);
  const sockets = new Set<Socket>();
  let isSilent = false;
  let cutAfter: string | undefined;
  const server = createServer((client) => {
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
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
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
    close: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
