/** Changes the README before `npm publish`. The release workflow runs it in a checkout that is not used afterwards. */
import { readFileSync, writeFileSync } from "node:fs";
import { withAbsoluteLinks } from "./readme-links.js";

const { GITHUB_REPOSITORY, GITHUB_REF_NAME } = process.env;
if (!GITHUB_REPOSITORY || !GITHUB_REF_NAME) throw new Error("GITHUB_REPOSITORY and GITHUB_REF_NAME must be set.");

writeFileSync("README.md", withAbsoluteLinks(readFileSync("README.md", "utf8"), GITHUB_REPOSITORY, GITHUB_REF_NAME));
