import type { IncomingMessage } from "node:http";

/** The whole body as UTF-8 text. */
export function readBody(request: IncomingMessage): Promise<string> | string {
  const { "content-length": length, "transfer-encoding": encoding } = request.headers;
  if (encoding === undefined && (length === undefined || length === "0")) return "";
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.once("end", () => resolve(Buffer.concat(chunks).toString("utf8")));
    request.once("error", reject);
    request.once("close", () => reject(new Error("The client went away.")));
  });
}
