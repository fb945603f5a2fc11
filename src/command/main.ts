#!/usr/bin/env node
/** The command `stocklot`. */
import { run } from "./program.js";

void run(process.argv.slice(2)).then((exitCode) => {
  process.exitCode = exitCode;
});
