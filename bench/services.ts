import { type ChildProcess, fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { Reply, ServiceCommand, ServiceOptions, ServiceStats } from "./service.js";

/** An open service in the child process. */
export interface Service {
  origin: string;
  baseUrl: string;
  stats(): Promise<ServiceStats>;
}

type RequestBody = ServiceCommand extends infer Each ? (Each extends ServiceCommand ? Omit<Each, "id"> : never) : never;

/** The child process in which the services of a section run. */
export class Services {
  readonly #child: ChildProcess;
  readonly #pendingReplies = new Map<number, (reply: Reply) => void>();
  #lastId = 0;

  constructor() {
    this.#child = fork(fileURLToPath(new URL("./service.ts", import.meta.url)));
    this.#child.on("message", (reply: Reply) => {
      this.#pendingReplies.get(reply.id)?.(reply);
      this.#pendingReplies.delete(reply.id);
    });
  }

  async open(options: ServiceOptions = {}): Promise<Service> {
    const reply = await this.#request({ open: options });
    if (!("port" in reply)) throw new Error("the service sent no port");
    const { port } = reply;
    const origin = `http://127.0.0.1:${port}`;
    return {
      origin,
      baseUrl: `${origin}/api/v1`,
      stats: async () => {
        const reply = await this.#request({ stats: port });
        if (!("stats" in reply)) throw new Error("the service sent no statistics");
        return reply.stats;
      },
    };
  }

  close(): void {
    this.#child.disconnect();
  }

  #request(request: RequestBody): Promise<Reply> {
    this.#lastId += 1;
    const id = this.#lastId;
    return new Promise((resolve) => {
      this.#pendingReplies.set(id, resolve);
      this.#child.send({ id, ...request });
    });
  }
}
