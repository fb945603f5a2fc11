/** States the result of each section in sentences, with the figures of the last run. The tables are in bench/README.md. */
import type { Cell, Section } from "./results.js";

/** One sentence per line of the list. */
type Findings = (section: Section) => readonly string[];

/** Returns the value of a check, by its position. */
function checked({ title, checks }: Section, index = 0): number {
  const check = checks[index];
  if (!check) throw new Error(`no check ${index} of ${title}`);
  return check.value;
}

/** Returns a cell without its quartiles and its unit. `names` are the first cells of its row. */
function cell({ title, columns, rows }: Section, names: readonly Cell[], column: string): string {
  const row = rows.find((cells) => names.every((name, index) => cells[index] === name));
  const found = row?.[columns.indexOf(column)];
  if (found === undefined) throw new Error(`no ${names.join(", ")} in ${title}`);
  if (typeof found === "string") return found;
  const { value, digits } = found;
  const figure = (typeof value === "number" ? value : value.median).toFixed(digits);
  return Number(figure) >= 1_000 ? Number(figure).toLocaleString("en") : figure;
}

const inValue = (section: Section, name: string) => cell(section, [name], "value");

/** Returns the least and the most time that a call of the other clients takes. */
function others(section: Section): string {
  const names = ["got", "ky", "axios", "openapi-fetch", "hey-api + zod"];
  const times = names.map((name) => Number(cell(section, [name], "wall")));
  return `${Math.min(...times).toFixed(1)}× to ${Math.max(...times).toFixed(1)}×`;
}

/** Returns how much more time a call takes, in percent. Values below 0 are noise, and become 0. */
const percent = (section: Section, index = 0) => Math.max(0, 100 * (checked(section, index) - 1)).toFixed(0);

export const FINDINGS: Readonly<Record<string, Findings>> = {
  overhead: (section) => [
    `One call takes **${checked(section).toFixed(2)}×** the time of the baseline and ${checked(section, 1).toFixed(2)}× its CPU time.`,
    `got, ky, axios, openapi-fetch and hey-api take ${others(section)}.`,
  ],
  page: (section) => [
    `A page of 250 lots takes **${checked(section).toFixed(2)}×** the time of the baseline, the others ${others(section)}.`,
  ],
  profile: (section) => {
    const together = (column: string) => cell(section, ["together"], column);
    return [
      `The main thread is busy for ${together("items.get")} µs per call, and for ${together("a page of 250 lots")} µs per page, of which \`JSON.parse\` takes ${cell(section, ["JSON.parse"], "a page of 250 lots")} µs.`,
    ];
  },
  bulk: (section) => {
    const time = (reader: string) => cell(section, [reader], "time");
    return [
      `If the consumer takes 100 ms per page, too, a loop takes ${time("while (hasMore) loop, slow consumer")} s and stocklot ${time("stocklot, slow consumer")} s.`,
      `\`readAhead: 9\` is **${checked(section).toFixed(1)}×** as fast as the default: ${time("stocklot, readAhead 9")} s.`,
    ];
  },
  quota: (section) => {
    const refused = (limiter: string) => cell(section, [limiter, "sliding"], "429s");
    return [
      `stocklot uses **${checked(section).toFixed(0)} %** of a sliding window and ${checked(section, 2).toFixed(0)} % of a fixed one, and **${checked(section, 1) + checked(section, 3)}** requests get a 429.`,
      `With a sliding window, the others get 429s: bottleneck ${refused("bottleneck (reservoir)")}, p-queue ${refused("p-queue (strict)")}, p-throttle ${refused("p-throttle (strict)")}, octokit ${refused("octokit throttling")}.`,
    ];
  },
  memory: (section) => [
    `An iteration over 1,000,000 lots needs **${checked(section).toFixed(1)} MiB**.`,
    `A call that waits for a slot needs ${checked(section, 1).toFixed(1)} KiB.`,
  ],
  startup: (section) => {
    const time = (name: string) => Number(cell(section, [name], "time")).toFixed(0);
    return [
      `Importing stocklot takes **${time("stocklot")} ms**, and ${time("stocklot, client created")} ms with a client.`,
    ];
  },
  growth: (section) => {
    const at = (calls: string) => Number(cell(section, ["stocklot, in flight"], calls)).toFixed(0);
    return [`A call takes ${at("10")} µs of CPU time with 10 calls at once, and ${at("10,000")} µs with 10,000.`];
  },
  paging: (section) => {
    const of = (schedule: string) => cell(section, [schedule], "requests per page");
    return [
      `\`gapless\` costs ${of("nothing")} requests per page while nothing changes, and ${of("up to 40 removed and 40 added")} if others remove and add up to 40 records each at every request. No record is lost.`,
    ];
  },
  search: (section) => {
    const pages = (list: string) => cell(section, [list, "dense"], "pages of the list");
    const most = (column: string) =>
      Math.max(...section.rows.map(([list = "", numbers = ""]) => Number(cell(section, [list, numbers], column))));
    return [
      `The stock of one item among 20,000 takes **${checked(section)}** requests, its look-up included; at most ${checked(section, 3)} if part numbers have large gaps. Reading the list takes ${pages("20,000 stock levels")}.`,
      `The lots of one item take at most ${checked(section, 4)} requests among 100,000 lots, and at most ${checked(section, 5)} among 1,000,000.`,
      `Then the same client needs ${most("another")} requests at most for another item, and ${most("again")} for the same item again.`,
    ];
  },
  load: (section) => [
    `60 callers who ask for one SKU at the same moment are all answered, with as many requests as one caller; of 60 callers of 60 SKUs **${checked(section, 3).toFixed(0)}**, and the others are refused at once.`,
    `With \`maxAgeMs: 60_000\`, ${(100 * checked(section, 4)).toFixed(0)} % of ten callers per second over 40 SKUs are answered.`,
  ],
  plan: (section) => {
    const of = (rows: string, column: string) => cell(section, [rows], column);
    const line = (rows: string) => `${of(rows, "requests")} requests and ${of(rows, "memory")} MiB for ${rows} rows`;
    return [`${line("20,000")}; ${line("200,000")}.`];
  },
  mirror: (section) => [
    `A first run stores **${inValue(section, "first run: lots per second")}** lots per second, without a rate limit. A run without changes takes ${inValue(section, "run without changes: requests")} requests.`,
    `Among 1,000,000 lots in SQLite, those of one SKU are found in ${inValue(section, "lots of one SKU, with its index")} ms, those in one bin in ${inValue(section, "lots in one bin, with its index")} ms.`,
  ],
  history: (section) => [
    `A [history](../docs/mirror.md#what-changed) adds ${inValue(section, "a row of the history")} µs and ${inValue(section, "a row of the history, in the file")} bytes per changed record.`,
  ],
  outbox: (section) => {
    const rate = (name: string) => cell(section, [name], "entries per second");
    return [
      `In SQLite, ${rate("added one by one")} entries per second are added one by one, and ${rate("5,000 added at once")} at once.`,
      `A run sends ${rate("sent by a run")} per second without a rate limit, each with two commits on disk. Without an outbox: ${rate("sent without an outbox")}.`,
    ];
  },
  telemetry: (section) => [`Idle telemetry: ${percent(section)} % of a call, ${percent(section, 1)} % with an SDK.`],
};

/** Returns the text of a section for readers. */
export function findingOf(name: string, section: Section): string {
  const findings = FINDINGS[name];
  if (!findings) throw new Error(`bench/findings.ts has no section ${name}`);
  const chart = section.chart ? `![${section.chart.title}](charts/${name}.svg)\n\n` : "";
  return `${chart}${findings(section)
    .map((line) => `- ${line}\n`)
    .join("")}`;
}
