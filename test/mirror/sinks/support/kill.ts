import { fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { SinkSpec } from "./sink-spec.js";

const COMMITTER = fileURLToPath(new URL("./committer.ts", import.meta.url));

/** Lets a process commit to the copy, kills it `ms` after it reached the stage, and returns the last commit that it reported. */
export function killAfter(ms: number, stage: "opening" | "open", spec: SinkSpec): Promise<number> {
  return new Promise((resolve, reject) => {
    let committed = 0;
    const child = fork(COMMITTER, [JSON.stringify(spec)], { execArgv: ["--import", "tsx"] });
    child.on("message", (message) => {
      if (typeof message === "number") committed = message;
      else if (message === stage) setTimeout(() => child.kill("SIGKILL"), ms);
    });
    child.once("exit", (code, signal) => {
      if (signal === "SIGKILL") resolve(committed);
      else reject(new Error(`the process ended by itself with ${code}`));
    });
  });
}
