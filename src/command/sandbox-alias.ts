#!/usr/bin/env node
/** The command `stocklot-sandbox`, an alias of `stocklot sandbox`. */
import { run } from "./program.js";

process.exitCode = await run(["sandbox", ...process.argv.slice(2)]);
