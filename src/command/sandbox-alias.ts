#!/usr/bin/env node
/** The command `stocklot-sandbox`, an alias of `stocklot sandbox`. */
import { run } from "./program.js";

void run(["sandbox", ...process.argv.slice(2)]).then((exitCode) => {
  process.exitCode = exitCode;
});
