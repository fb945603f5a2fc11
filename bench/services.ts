import { type ChildProcess, fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { Order, Reply, ServiceOptions, ServiceStats } from "./service.js";

/** A service that was opened in the child process. */
export interface Service {
  origin: string;
  baseUrl: string;
  stats(): Promise<ServiceStats>;
}

type Ask = Order extends infer Each ? (Each extends Order ? Omit<Each, "id"> : never) : never;

/** The child process that the services of a section run in. */
export class Services {
  readonly #child: ChildProcess;
  readonly #waiting = new Map<number, (reply: Reply) => void>();
  #orders = 0;

  constructor() {
    this.#child = fork(fileURLToPath(new URL("./service.ts", import.meta.url)));
    this.#child.on("message", (reply: Reply) => {
      this.#waiting.get(reply.id)?.(reply);
      this.#waiting.delete(reply.id);
    });
  }

  async open(options: ServiceOptions = {}): Promise<Service> {
    const reply = await this.#ask({ open: options });
    if (!("port" in reply)) throw new Error("the service sent no port");
    const { port } = reply;
    const origin = `http://127.0.0.1:${port}`;
    return {
      origin,
      baseUrl: `${origin}/api/v1`,
      stats: async () => {
        const answer = await this.#ask({ stats: port });
        if (!("stats" in answer)) throw new Error("the service sent no statistics");
        return answer.stats;
      },
    };
  }

  close(): void {
    this.#child.disconnect();
  }

  #ask(order: Ask): Promise<Reply> {
    this.#orders += 1;
    const id = this.#orders;
    return new Promise((resolve) => {
      this.#waiting.set(id, resolve);
      this.#child.send({ id, ...order });
    });
  }
}
