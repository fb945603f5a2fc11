import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { type AddressInfo, connect as connectSocket, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Duplex } from "node:stream";
import { createServer as createTlsServer } from "node:tls";
import { createCertificates } from "../../support/certificates.js";

/** A network in which the service has a certificate of a private authority, and is reached through a proxy. */
export interface CompanyNetwork {
  /** The addresses and file names in the guides, each with its replacement. */
  replacements: Record<string, string>;
  close(): void;
}

/** Starts HTTPS gateways and a proxy in front of a service. */
export async function startCompanyNetwork(serviceUrl: string): Promise<CompanyNetwork> {
  const certificates = createCertificates();
  const { good, authority, authorityFile } = certificates;
  const folder = mkdtempSync(join(tmpdir(), "stocklot-company-"));
  const file = (name: string) => join(folder, name);
  writeFileSync(file("client.pem"), good.cert);
  writeFileSync(file("client-key.pem"), good.key);
  execFileSync("openssl", [
    ..."pkcs12 -export -passout pass:secret".split(" "),
    ...["-in", file("client.pem"), "-inkey", file("client-key.pem"), "-out", file("client.pfx")],
  ]);

  const { port: servicePort, pathname } = new URL(serviceUrl);
  const toService = (socket: Duplex) => pipeBoth(socket, connectSocket(Number(servicePort), "127.0.0.1"));
  const gateway = createTlsServer(good, toService);
  const strictGateway = createTlsServer({ ...good, ca: authority, requestCert: true }, toService);
  const proxy = createServer((_, response) => response.writeHead(405).end());
  proxy.on("connect", ({ url = "" }, socket) => {
    socket.write("HTTP/1.1 200 Connection established\r\n\r\n");
    pipeBoth(socket, connectSocket(Number(url.split(":")[1]), "127.0.0.1"));
  });
  const servers = [gateway, strictGateway, proxy];
  const [gatewayPort, strictPort, proxyPort] = await Promise.all(servers.map(listen));
  return {
    replacements: {
      "https://inventory.corp.example/api/v1": `https://localhost:${gatewayPort}${pathname}`,
      "https://inventory-mtls.corp.example/api/v1": `https://localhost:${strictPort}${pathname}`,
      "http://proxy.corp.example:3128": `http://127.0.0.1:${proxyPort}`,
      "/etc/ssl/corp/authority.pem": authorityFile,
      "/etc/ssl/corp/client.pem": file("client.pem"),
      "/etc/ssl/corp/client-key.pem": file("client-key.pem"),
      "C:/certificates/client.pfx": file("client.pfx"),
      "C:/certificates/authority.pem": authorityFile,
    },
    close() {
      for (const server of servers) server.close();
      certificates.remove();
      rmSync(folder, { recursive: true });
    },
  };
}

/** Sends what each of two sockets receives to the other socket. */
function pipeBoth(left: Duplex, right: Duplex): void {
  left.pipe(right).pipe(left);
  for (const socket of [left, right]) socket.on("error", () => {});
}

async function listen(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return (server.address() as AddressInfo).port;
}
