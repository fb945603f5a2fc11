import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { spreadOf } from "../measure.js";
import { BUILT_PACKAGE } from "../paths.js";
import type { Section } from "../results.js";

const BENCH = fileURLToPath(new URL("../", import.meta.url));
const OWN = new URL("index.js", BUILT_PACKAGE).href;

/** The imports to measure, each in a new process. */
const IMPORTS: Record<string, string> = {
  nothing: "",
  undici: 'await import("undici");',
  zod: 'await import("zod");',
  "undici + zod": 'await import("undici"); await import("zod");',
  stocklot: `await import(${JSON.stringify(OWN)});`,
  "stocklot (require)": `createRequire(import.meta.url)(${JSON.stringify(fileURLToPath(new URL("index.cjs", BUILT_PACKAGE)))});`,
  "stocklot, client created": `const { InventoryClient } = await import(${JSON.stringify(OWN)});
    new InventoryClient({ baseUrl: "http://localhost/api/v1", clientId: "a", clientSecret: "b" });`,
  got: 'await import("got");',
  ky: 'await import("ky");',
  axios: 'await import("axios");',
  "@octokit/core": 'await import("@octokit/core");',
  stripe: 'await import("stripe");',
};

const BASELINE = "undici + zod";

export async function startUp(quick: boolean): Promise<Section> {
  const rounds = quick ? 5 : 15;
  const times = new Map<string, number[]>(Object.keys(IMPORTS).map((name) => [name, []]));
  for (const name of Object.keys(IMPORTS)) importTime(name);
  for (let round = 0; round < rounds; round += 1) {
    for (const name of Object.keys(IMPORTS)) times.get(name)?.push(importTime(name));
  }
  const took = (name: string) => spreadOf(times.get(name) ?? []);
  const more = spreadOf(
    (times.get("stocklot") ?? []).map((time, round) => time - (times.get(BASELINE)?.[round] ?? Number.NaN)),
  );
  return {
    title: "Start-up",
    note: "Time of an import in a fresh process with warm file caches.",
    columns: ["import", "time"],
    rows: Object.keys(IMPORTS)
      .slice(1)
      .map((name) => [name, { value: took(name), digits: 1, unit: "ms, in a fresh process; shorter is better" }]),
    checks: [{ what: "import of stocklot, ms more than undici + zod", value: more.median, atMost: 30 }],
    chart: {
      kind: "bars",
      title: "How long does the import take?",
      unit: "ms, in a fresh process; shorter is better",
      bars: ["undici + zod", "stocklot", "got", "ky", "axios", "stripe"].map((name) => ({
        name,
        value: took(name).median,
        spread: took(name),
        own: name === "stocklot",
      })),
    },
  };
}

function importTime(name: string): number {
  const script = `import { createRequire } from "node:module";
    const startedAt = performance.now();
    ${IMPORTS[name]}
    console.log(performance.now() - startedAt);`;
  const options = { cwd: BENCH, encoding: "utf8", env: { ...process.env, NODE_OPTIONS: "" } } as const;
  return Number(execFileSync(process.execPath, ["--input-type=module", "--eval", script], options));
}
