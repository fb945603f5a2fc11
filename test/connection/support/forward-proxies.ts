import { execFileSync } from "node:child_process";
import { freePort } from "../../support/free-port.js";
import { ServerProgram } from "./server-program.js";

/** A proxy that connects clients with servers, as in a company's network. */
export interface ForwardProxy {
  /** The URL of the proxy, without credentials. */
  url: string;
  program: ServerProgram;
  /** The requests of clients, as `CONNECT host:port`. */
  requests(): string[];
}

interface ProxyOptions {
  /** `user:password`. If it is left out, the proxy requires no credentials. */
  credentials?: string;
  /** Closes tunnels on which nothing was sent for so many seconds. */
  idleSeconds?: number;
  /** Further lines of the configuration. */
  directives?: string;
}

export async function startSquid({
  credentials,
  idleSeconds = 60,
  directives = "",
}: ProxyOptions): Promise<ForwardProxy> {
  const port = await freePort();
  const configuration = (folder: string) => `
    http_port 127.0.0.1:${port}
    pid_filename ${folder}/squid.pid
    cache_log ${folder}/errors.log
    logformat requests %rm %ru
    access_log stdio:${folder}/requests.log requests
    buffered_logs off
    coredump_dir ${folder}
    cache deny all
    pinger_enable off
    max_filedescriptors 1024
    shutdown_lifetime 0 seconds
    connect_timeout 2 seconds
    read_timeout ${idleSeconds} seconds
    ${directives}
    ${
      credentials
        ? `auth_param basic program /usr/lib/squid/basic_ncsa_auth ${folder}/passwords
           acl authenticated proxy_auth REQUIRED
           http_access allow authenticated
           http_access deny all`
        : "http_access allow all"
    }`;
  const program = await ServerProgram.start({
    program: "squid",
    args: (folder) => ["-N", "-f", `${folder}/squid.conf`],
    files: (folder) => ({
      // In squid.conf, a line must not begin with a space.
      "squid.conf": configuration(folder).replace(/\n +/g, "\n"),
      ...(credentials && { passwords: `${passwordLine(credentials)}\n` }),
    }),
    ports: [port],
  });
  return {
    url: `http://127.0.0.1:${port}`,
    program,
    requests: () => program.log("requests.log").flatMap((line) => /CONNECT \S+/.exec(line) ?? []),
  };
}

function passwordLine(credentials: string): string {
  const [user, password = ""] = splitCredentials(credentials);
  return `${user}:${execFileSync("openssl", ["passwd", "-apr1", password], { encoding: "utf8" }).trim()}`;
}

const splitCredentials = (credentials: string) => /^([^:]*):(.*)$/.exec(credentials)?.slice(1) ?? [];

export async function startTinyproxy({
  credentials,
  idleSeconds = 60,
  directives = "",
}: ProxyOptions): Promise<ForwardProxy> {
  const port = await freePort();
  const program = await ServerProgram.start({
    program: "tinyproxy",
    args: (folder) => ["-d", "-c", `${folder}/tinyproxy.conf`],
    files: (folder) => ({
      "tinyproxy.conf": `
Port ${port}
Listen 127.0.0.1
Timeout ${idleSeconds}
MaxClients 200
LogFile "${folder}/requests.log"
LogLevel Connect
${credentials ? `BasicAuth ${splitCredentials(credentials).join(" ")}` : ""}
${directives}
`,
    }),
    ports: [port],
  });
  return {
    url: `http://127.0.0.1:${port}`,
    program,
    requests: () =>
      program.log("requests.log").flatMap((line) => /Request \(.*\): (CONNECT \S+)/.exec(line)?.[1] ?? []),
  };
}
