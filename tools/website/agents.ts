/** SKILL.md and llms.txt: short instructions for coding agents, generated from the guides. */
import packageJson from "../../package.json" with { type: "json" };
import { replaceTargets, summaryOf, titleOf } from "./markdown.js";
import { FRONT_PAGE, GUIDES } from "./navigation.js";
import { readDocument } from "./pages.js";

const CHECKLIST = "docs/operating.md";
const WRITES = "docs/writes.md";
const REFERENCE = "docs/reference.md";

/** Rewrites links of a guide relative to the root of the package. */
const fromRoot = (markdown: string) =>
  replaceTargets(markdown, (target) => (target.startsWith("../") ? target.slice(3) : `docs/${target}`));

/** Returns the first group of a pattern in a document. */
function partOf(path: string, what: string, pattern: RegExp): string {
  const part = pattern.exec(readDocument(path))?.[1];
  if (part === undefined) throw new Error(`${path} has no ${what}`);
  return part.trim();
}

const rules = () => fromRoot(partOf(CHECKLIST, "numbered list", /^(1\. [\s\S]*?)\n\n(?!\d)/m));
const program = () => partOf(WRITES, "program", /^(```ts\n[\s\S]*?^```)$/m);
const methods = () => fromRoot(partOf(REFERENCE, "table of methods", /^## Methods\n[\s\S]*?^(\|[\s\S]*?)\n\n/m));

function guideLinks(): string {
  const links = GUIDES.filter((path) => path !== FRONT_PAGE).map((path) => {
    const document = readDocument(path);
    const [sentence = ""] = /^.*?[.:](?= |$)/.exec(fromRoot(summaryOf(document))) ?? [];
    return `- [${titleOf(document)}](${path}): ${sentence.replace(/:$/, ".")}`;
  });
  return [...links, "- [OpenAPI document](openapi.json): the service's endpoints and schemas."].join("\n");
}

const body = () => `## Install

\`\`\`sh
npm install ${packageJson.name}
\`\`\`

Node.js 20.19 or later. Without a service, start one: \`npx stocklot sandbox --port 4010\` prints the three environment variables that \`new InventoryClient()\` reads.

## Ten rules

${rules()}

${program()}

## Methods

${methods()}

Field names differ between records (\`wID\`, \`recNo\`, \`rFIDTag\`) and inputs (\`wid\`, \`recno\`, \`rfidTag\`); the bin is \`spot\`. [Fields](docs/reference.md#fields) lists them.

## Guides

${guideLinks()}
`;

/** Returns SKILL.md, for agents that load skills: front matter, then the text. */
export const skillText = (): string => `---
name: ${packageJson.name}
description: Use the npm package ${packageJson.name}, the client of the Inventory and Item Catalog Service, to read items, lots and stock levels and to receive, move and issue stock without booking anything twice.
---

# ${packageJson.name}

${packageJson.description}

${body()}`;

/** Returns llms.txt, for agents that read a site: see llmstxt.org. */
export const llmsText = (): string => `# ${packageJson.name}

> ${packageJson.description}

${body()}`;
