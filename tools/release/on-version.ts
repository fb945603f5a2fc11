/** Updates the files of a release. `npm version` runs it after it has changed package.json, and before it commits and tags. */
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import packageJson from "../../package.json" with { type: "json" };
import { released } from "./changelog.js";
import { versionFile } from "./version-file.js";

const { version } = packageJson;
const today = new Date().toISOString().slice(0, 10);

writeFileSync("CHANGELOG.md", released(readFileSync("CHANGELOG.md", "utf8"), version, today));
writeFileSync("src/shared/version.ts", versionFile(version));
execFileSync("git", ["add", "CHANGELOG.md", "src/shared/version.ts"]);
