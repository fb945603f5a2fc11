import { fork } from "node:child_process";
import { builtProgram } from "../../../support/built-program.js";
import { killAfter } from "../../../support/kill-after.js";
import type { SinkSpec } from "./sink-spec.js";

const committer = await builtProgram(new URL("./committer.ts", import.meta.url));

/**
 * Lets a process commit to the copy, kills it, and returns the last commit that it reported. With 0 commits it is killed
 * while it opens the copy or soon after, otherwise when it has reported that many.
 */
export async function killCommitter(commits: number, spec: SinkSpec): Promise<number> {
  let committed = 0;
  const child = fork(committer, [JSON.stringify(spec)]);
  child.on("message", (message) => {
    if (typeof message === "number") committed = message;
  });
  // Its first reports are "opening" and "open".
  await killAfter(child, commits === 0 ? 0 : commits + 1);
  return committed;
}
