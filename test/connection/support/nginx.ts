import type { Identity } from "../../support/certificates.js";
import { freePort } from "../../support/free-port.js";
import { ServerProgram } from "./server-program.js";

/** A virtual server of the gateway. */
export interface NginxServer {
  /** The key and certificate. If they are left out, the server speaks plain HTTP. */
  identity?: Identity;
  /** Further directives of the configuration. */
  directives?: string;
}

/** An nginx that passes all requests on to one service. */
export interface Nginx<Name extends string> {
  ports: Record<Name, number>;
  /** Replaces the worker processes, as after a change of the configuration. */
  reload(): void;
  close(): Promise<void>;
}

/** Starts nginx with one virtual server for each name. */
export async function startNginx<Name extends string>(
  serviceUrl: string,
  servers: Record<Name, NginxServer>,
): Promise<Nginx<Name>> {
  const names = Object.keys(servers) as Name[];
  const ports = {} as Record<Name, number>;
  for (const name of names) ports[name] = await freePort();
  const configuration = (folder: string) => `
    ${process.getuid?.() === 0 ? "user root;" : ""}
    daemon off;
    pid ${folder}/nginx.pid;
    error_log ${folder}/errors.log;
    worker_processes 1;
    events { worker_connections 1024; }
    http {
      access_log off;
      client_body_temp_path ${folder}/body;
      proxy_temp_path ${folder}/proxy;
      fastcgi_temp_path ${folder}/fastcgi;
      uwsgi_temp_path ${folder}/uwsgi;
      scgi_temp_path ${folder}/scgi;
      proxy_http_version 1.1;
      proxy_set_header connection "";
      ${names.map((name) => serverBlock(name, folder)).join("\n")}
    }`;
  const serverBlock = (name: Name, folder: string) => {
    const { identity, directives = "" } = servers[name];
    return `server {
      listen 127.0.0.1:${ports[name]}${identity ? " ssl" : ""};
      ${identity ? `ssl_certificate "${folder}/${name}.pem"; ssl_certificate_key "${folder}/${name}.key";` : ""}
      ${directives}
      location / { proxy_pass ${new URL(serviceUrl).origin}; }
    }`;
  };
  const program = await ServerProgram.start({
    program: "nginx",
    ports: Object.values(ports),
    args: (folder) => ["-c", `${folder}/nginx.conf`, "-e", `${folder}/errors.log`],
    files: (folder) => ({
      "nginx.conf": configuration(folder),
      ...Object.fromEntries(
        names.flatMap((name) => {
          const { identity } = servers[name];
          return identity
            ? [
                [`${name}.key`, identity.key],
                [`${name}.pem`, identity.cert],
              ]
            : [];
        }),
      ),
    }),
  });
  return {
    ports,
    reload: () => program.signal("SIGHUP"),
    close: async () => {
      // Also ends the worker processes.
      await program.stop();
      await program.close();
    },
  };
}
