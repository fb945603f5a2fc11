import { createServer, type Server, type Socket } from "node:net";

/** Sends the response to one request. */
export type Reply = (status: number, body: Buffer) => void;

/**
 * Creates an HTTP server that takes a fraction of the time of `node:http`, because its time is part of each client's result.
 * It supports only what the clients of the benchmark send: one request at a time per connection, bodies with `content-length`.
 */
export function createMinimalServer(reply: (target: string, reply: Reply) => void): Server {
  return createServer({ noDelay: true }, (socket) => {
    let received = "";
    socket.setEncoding("latin1");
    socket.on("error", () => socket.destroy());
    socket.on("data", (chunk: string) => {
      received += chunk;
      const target = completeRequest(received);
      if (target === undefined) return;
      received = "";
      reply(target, (status, body) => send(socket, status, body));
    });
  });
}

/** Returns the target of the request if the request has arrived completely. */
function completeRequest(received: string): string | undefined {
  const headEnd = received.indexOf("\r\n\r\n");
  if (headEnd < 0) return undefined;
  if (received.startsWith("POST")) {
    const length = Number(/content-length: *(\d+)/i.exec(received)?.[1] ?? 0);
    if (received.length < headEnd + 4 + length) return undefined;
  }
  const from = received.indexOf(" ") + 1;
  return received.slice(from, received.indexOf(" ", from));
}

function send(socket: Socket, status: number, body: Buffer): void {
  if (socket.destroyed) return;
  const head = `HTTP/1.1 ${status} ${status === 200 ? "OK" : "Refused"}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n`;
  socket.cork();
  socket.write(head, "latin1");
  socket.write(body);
  socket.uncork();
}
