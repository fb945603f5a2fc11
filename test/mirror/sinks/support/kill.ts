import { fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { SinkSpec } from "./sink-spec.js";

const COMMITTER = fileURLToPath(new URL("./committer.ts", import.meta.url));

/** Lets a process commit to the copy, kills it so long after it began to open the copy, and gives what it committed last. */
export function killAfter(ms: number, spec: SinkSpec): Promise<number> {
  return new Promise((resolve, reject) => {
    let committed = 0;
    const child = fork(COMMITTER, [JSON.stringify(spec)], { execArgv: ["--import", "tsx"] });
    child.on("message", (message) => {
      if (message === "opening") setTimeout(() => child.kill("SIGKILL"), ms);
      else committed = Number(message);
    });
    child.once("exit", (code, signal) => {
      if (signal === "SIGKILL") resolve(committed);
      else reject(new Error(`the process ended by itself with ${code}`));
    });
  });
}
