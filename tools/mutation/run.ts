/**
 * Changes one random place of the source at a time, and runs the tests that reach it. A change that no test notices shows that a
 * test is missing. It changes files of the working tree, and restores each file.
 *
 * npm run mutation:reach
 * npm run mutation -- src/outbox src/storage --count 20 --seed 1
 *
 * An interrupted run continues with --from and the number of the next mutant.
 */
import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { createRandom } from "../../test/support/random.js";
import { equivalenceOf } from "./equivalent.js";
import { type Mutant, mutantsOf } from "./mutants.js";
import { Tests } from "./tests.js";

/** If a run takes this many times as long as without the mutant, the mutant has made it hang. */
const HUNG_RATIO = 3;
/** The time for the start of vitest, in s. */
const START_S = 40;
/** The most time, in s, for all tests of the mutant's folder, with those that `npm test` leaves out. */
const COMPLETE_S = 900;
/** The exit code of `timeout` if it has ended its command. */
const HUNG_STATUS = 124;

const VITEST = `node node_modules/vitest/vitest.mjs run --config tools/mutation/vitest.config.ts --bail 1`.split(" ");

/** Whether tests use the server of STOCKLOT_TEST_POSTGRES_URL. Some tests end all connections of that server. */
const sharesServer = (names: readonly string[]) => names.some((name) => name.includes("postgres"));

type Result = "killed" | "hung" | "survived" | "equivalent";

function run(mutant: Mutant, tests: Tests): Result {
  if (equivalenceOf(mutant)) return "equivalent";
  const original = readFileSync(mutant.file, "utf8");
  try {
    writeFileSync(mutant.file, original.slice(0, mutant.start) + mutant.replacement + original.slice(mutant.end));
    const { batches, folders } = tests.batchesFor(mutant);
    for (const [index, batch] of batches.entries()) {
      const seconds = START_S + Math.ceil((HUNG_RATIO * batch.ms) / 1_000);
      // The first batch runs in one worker, because each further worker would spend most of its time loading the sources.
      const isSequential = index === 0 || sharesServer(batch.tests);
      const vitest = [...VITEST, ...batch.tests, ...(isSequential ? ["--no-file-parallelism"] : [])];
      // `timeout` also ends the workers, which a mutant may keep busy forever.
      const { status } = spawnSync("timeout", ["-k", "5", String(seconds), ...vitest], { stdio: "ignore" });
      if (status === HUNG_STATUS) return "hung";
      if (status !== 0) return "killed";
    }
    const complete = ["timeout", "-k", "5", String(COMPLETE_S), ...VITEST, "--mode", "all", ...folders];
    return spawnSync("nice", complete, { stdio: "ignore" }).status === 0 ? "survived" : "killed";
  } finally {
    writeFileSync(mutant.file, original);
  }
}

function describe({ file, start, line, change }: Mutant): string {
  const number = readFileSync(file, "utf8").slice(0, start).split("\n").length;
  return `${file}:${number}: ${change}\n    ${line}`;
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    count: { type: "string", default: "20" },
    seed: { type: "string", default: "1" },
    from: { type: "string", default: "1" },
  },
});
const tests = new Tests();
const random = createRandom(Number(values.seed));
const all = positionals.flatMap((folder) => {
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".ts"));
  return files.sort().flatMap((name) => mutantsOf(join(folder, name)));
});
const counts: Record<Result, number> = { killed: 0, hung: 0, survived: 0, equivalent: 0 };
console.log(`${all.length} places, ${values.count} of them at random (seed ${values.seed})`);
for (let number = 1; number <= Number(values.count); number += 1) {
  const mutant = all[Math.floor(random() * all.length)];
  if (!mutant) break;
  if (number < Number(values.from)) continue;
  const result = run(mutant, tests);
  counts[result] += 1;
  console.log(`${number} ${result}${result === "killed" ? "" : `: ${describe(mutant)}`}`);
  const { others } = tests.batchesFor(mutant);
  if (result === "survived" && others.length > 0) console.log(`    not run: ${others.join(" ")}`);
}
console.log(counts);
