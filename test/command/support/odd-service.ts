import { createServer, type IncomingMessage, type RequestListener } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import { createSandbox, type SandboxOptions } from "stocklot/sandbox";
import { onTestFinished } from "vitest";
import type { Identity } from "../../support/certificates.js";

/** How a service differs from the document where the sandbox has no option for it. */
export interface Oddity {
  /** Serve https with this certificate. */
  tls?: Identity;
  changeQuery?(query: URLSearchParams): void;
  changeResponse?(response: Response, path: string): Response | Promise<Response>;
}

/** A sandbox behind a server that changes requests and responses, and the variables that connect a command to it. */
export async function serveOddly(
  { tls, changeQuery, changeResponse = (response) => response }: Oddity,
  options: SandboxOptions = {},
): Promise<Record<string, string>> {
  const sandbox = createSandbox({ rateLimit: false, ...options });
  const respond: RequestListener = async (request, response) => {
    const url = new URL(request.url ?? "", sandbox.baseUrl);
    changeQuery?.(url.searchParams);
    const { method = "GET", headers } = request;
    const body = method === "GET" ? {} : { body: await bodyOf(request) };
    const { authorization = "", "content-type": contentType = "text/plain" } = headers;
    const served = await sandbox.fetch(url, {
      method,
      headers: { authorization, "content-type": contentType },
      ...body,
    });
    const changed = await changeResponse(served, url.pathname);
    response.writeHead(changed.status, Object.fromEntries(changed.headers));
    response.end(Buffer.from(await changed.arrayBuffer()));
  };
  const server = tls ? createTlsServer(tls, respond) : createServer(respond);
  await new Promise<void>((resolve) => server.listen(0, "localhost", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const { clientId, clientSecret } = sandbox.credentials;
  return {
    STOCKLOT_BASE_URL: `${tls ? "https" : "http"}://localhost:${port}/api/v1`,
    STOCKLOT_CLIENT_ID: clientId,
    STOCKLOT_CLIENT_SECRET: clientSecret,
  };
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  let text = "";
  for await (const chunk of request) text += chunk;
  return text;
}

/** The response with other headers. */
export function withHeaders(response: Response, change: (headers: Headers) => void): Response {
  const headers = new Headers(response.headers);
  change(headers);
  return new Response(response.body, { status: response.status, headers });
}
