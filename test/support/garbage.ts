import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

setFlagsFromString("--expose-gc");

/** Collects the garbage of this process, so that what is left is in use. */
export const collectGarbage: () => void = runInNewContext("gc");
