/** The home page of the site. It shows the first program of the README, and figures of the benchmark. */
import { readFileSync } from "node:fs";
import { RESULTS } from "../../bench/paths.js";
import { figureOf, type Results } from "../../bench/results.js";
import { withTabs } from "./package-managers.js";

/** Returns the first block of a language in the README. */
function blockOf(readme: string, language: string): string {
  const [block] = new RegExp(`^\`\`\`${language}\\n[\\s\\S]*?^\`\`\`$`, "m").exec(readme) ?? [];
  if (block === undefined) throw new Error(`the README has no block of ${language}`);
  return block;
}

interface Card {
  readonly title: string;
  readonly text: string;
  /** A path in the repository. */
  readonly link: string;
  readonly linkText: string;
}

const PROMISES: readonly Card[] = [
  {
    title: "The stock of one SKU, at once",
    text: "The service cannot filter by item. stocklot searches the sorted lists, and reads a few pages of them.",
    link: "docs/lists.md#one-item",
    linkText: "One item",
  },
  {
    title: "Nothing is booked twice",
    text: "A receive, move or issue that may have been applied is never retried. You learn that its outcome is unknown.",
    link: "docs/writes.md",
    linkText: "Writes and errors",
  },
  {
    title: "No record is missed",
    text: "A gapless list returns every record that exists the whole time exactly once, even if others change the list.",
    link: "docs/lists.md#when-others-change-the-list",
    linkText: "Lists",
  },
  {
    title: "Never over the limit",
    text: "One client, or many containers with a shared limit, stay within 100 requests per minute. Writes and single reads take precedence.",
    link: "docs/operating.md#the-rate-limit",
    linkText: "The rate limit",
  },
];

/** For whom the package is, and for whom it is not. */
const READERS = [
  "**For you** if you read or book stock in the Inventory and Item Catalog Service, from TypeScript, JavaScript or a shell: a web shop, scanners, an ERP, a nightly job. With an account, or first with the sandbox.",
  "**Not for you** if your program is in another language (start from [the OpenAPI document](/openapi.json)), if it runs in a browser, where the secret would be everybody's, or if you look for another service's client.",
];

const PIECES: readonly (readonly [name: string, what: string, link: string])[] = [
  [
    "Command",
    "exports, imports, plans, counts, mirrors and checks the connection, without a program",
    "docs/command.md",
  ],
  ["Client", "reads items, lots and stock levels; receives, moves and issues stock", "docs/start.md"],
  ["Outbox", "stores writes before it sends them: none is lost or doubled in a crash", "docs/outbox.md"],
  ["Mirror", "keeps a copy in SQLite or PostgreSQL up to date", "docs/mirror.md"],
  ["Plan", "sends what differs between your data and the catalog", "docs/plan.md"],
  ["Count", "books what people have counted, and nothing that has moved since", "docs/count.md"],
  ["Sandbox", "is the whole service in memory, with faults on demand, for tests, also for msw", "docs/testing.md"],
  [
    "Shared limit",
    "keeps many processes within one limit, through Redis or a Bottleneck",
    "docs/operating.md#several-clients-several-processes",
  ],
  ["Telemetry", "turns calls into spans and metrics of OpenTelemetry", "docs/operating.md#opentelemetry"],
  ["Assistants", "ask for stock and book through MCP, and a person confirms", "docs/agents.md"],
];

interface Figure {
  readonly value: string;
  readonly text: string;
  readonly link: string;
  readonly linkText: string;
}

function figures(): Figure[] {
  const results: Results = JSON.parse(readFileSync(RESULTS, "utf8"));
  const of = (section: string, index = 0) => figureOf(results, section, index).toFixed(0);
  return [
    {
      value: of("search"),
      text: `requests find the stock of one item among 20,000: the median of 300 random items, its look-up included. At most ${of("search", 3)}. Reading the list takes 80.`,
      link: "bench/README.md#searches",
      linkText: "Measured",
    },
    {
      value: of("load"),
      text: `of 60 callers who ask for the stock of one SKU at the same moment are answered, with ${of("load", 2)}× the requests of one caller.`,
      link: "docs/lists.md#many-callers",
      linkText: "How",
    },
    {
      value: "0",
      text: "writes are lost or doubled when the tests kill the processes of an outbox, 40 times in each full run.",
      link: ".github/CONTRIBUTING.md",
      linkText: "Repeat it",
    },
    {
      value: of("quota", 1),
      text: `responses with 429 in 1,000 pages, while ${of("quota")} % of the requests that the limit allows are used.`,
      link: "bench/README.md",
      linkText: "Measured",
    },
  ];
}

const cards = (name: string, all: readonly string[]) =>
  `<div class="cards ${name}">\n${all.map((card) => `<div>\n\n${card}\n\n</div>\n`).join("")}</div>\n`;

/** Returns the home page. Its links are paths in the repository, as in all documents. */
export const homePage = (readme: string): string => `---
layout: home
title: stocklot
titleTemplate: Client for the Inventory and Item Catalog Service
search: false
hero:
  name: stocklot
  text: The Inventory and Item Catalog Service, from TypeScript
  tagline: One item's stock in a few requests. Writes that survive crashes. A catalog in step with your ERP.
  actions:
    - { text: Start, link: /docs/start }
    - { text: I want to …, link: /docs/index, theme: alt }
    - { text: Reference, link: /docs/reference, theme: alt }
---

<div class="start">
<div>

Install it, and start a sandbox with 20,000 items:

${withTabs(blockOf(readme, "sh"))}

The sandbox prints three variables. Paste them into a second terminal, save this program as \`first.mjs\` and run it with Node.js. For the real service, set the variables to your own address and credentials.

</div>
<div>

${blockOf(readme, "ts")}

It prints:

${blockOf(readme, "text")}

</div>
</div>

${cards("readers", READERS)}

## What it promises

${cards(
  "promises",
  PROMISES.map(({ title, text, link, linkText }) => `### ${title}\n\n${text}\n\n[${linkText}](${link})`),
)}
## What was measured

${cards(
  "figures",
  figures().map(({ value, text, link, linkText }) => `**${value}** ${text} [${linkText}](${link})`),
)}
## The pieces

${cards(
  "pieces",
  PIECES.map(([name, what, link]) => `[${name}](${link}) ${what}.`),
)}`;
