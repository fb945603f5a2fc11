#!/usr/bin/env node
/** The command `stocklot-sandbox`, an alias of `stocklot sandbox`. It runs the built command, of which there is one copy. */
import { createRequire } from "node:module";

process.argv.splice(2, 0, "sandbox");
createRequire(__filename)("./stocklot.cjs");
