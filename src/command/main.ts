#!/usr/bin/env node
/** The command `stocklot`. */
import { run } from "./program.js";

process.exitCode = await run(process.argv.slice(2));
