/**
 * Changes one place of the source at a time, at random, and runs the tests that reach it: a change that no test notices is a
 * hole. It changes files of the working tree, and restores each one.
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

/** A run that takes this many times as long as without the mutant has been stopped by it. */
const HUNG_RATIO = 3;
/** To start vitest. */
const START_S = 40;
/** The tests of a part with all that `npm test` leaves out: processes that are killed, servers, more random cases. */
const COMPLETE_S = 900;
/** The exit code of `timeout` if it has ended the command. */
const HUNG_STATUS = 124;

const VITEST = `node node_modules/vitest/vitest.mjs run --config tools/mutation/vitest.config.ts --bail 1`.split(" ");

/** With STOCKLOT_TEST_POSTGRES_URL the tests of PostgreSQL run too. Some of them end all connections of the server. */
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
      // Each worker loads the sources: of the few first tests that would be most of the time.
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
