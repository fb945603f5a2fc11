import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

setFlagsFromString("--expose-gc");

/** Collects the garbage of this process, so that only objects in use remain. */
export const collectGarbage: () => void = runInNewContext("gc");
