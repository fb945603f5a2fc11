import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Mutant } from "./mutants.js";

/** The folder into which `reach.ts` writes a file for each test file. */
export const REACH_FOLDER = "coverage/reach";

/** The functions that a test file calls. */
export interface Reach {
  test: string;
  /** The duration of the tests, in ms. */
  ms: number;
  /** The names of the functions that the tests call, by source file. */
  functions: Record<string, string[]>;
}

/** The tests that most likely notice a mutant of a folder, besides the tests in the test folder of the same name. */
const NEAR_TESTS: Readonly<Record<string, readonly string[]>> = {
  "src/client/auth": ["test/token", "test/call", "test/responses"],
  "src/client/send": [
    "test/retry",
    "test/call",
    "test/responses",
    "test/outcome",
    "test/errors",
    "test/abort",
    "test/connection",
  ],
  "src/shared/errors": ["test/errors", "test/secrets"],
  "src/client/limiter": ["test/rate-limit", "test/call"],
  "src/client/lists": ["test/lists", "test/search"],
  "src/storage": ["test/storage", "test/outbox/stores", "test/mirror/databases"],
};

/** The duration of the first batch of tests, in ms. It kills most mutants. */
const FIRST_MS = 5_000;
/** The most time for less likely tests, in ms. The names of those that do not run are printed, so that a person can judge. */
const MOST_FAR_MS = 90_000;

export interface TestBatch {
  tests: string[];
  /** The duration of the tests without a mutant, in ms. */
  ms: number;
}

/** Chooses the test files for a mutant: first those that most likely notice it, then others that reach its function. */
export class Tests {
  readonly #reaches: readonly Reach[];

  constructor() {
    const files = existsSync(REACH_FOLDER) ? readdirSync(REACH_FOLDER) : [];
    if (files.length === 0) throw new Error(`${REACH_FOLDER} is empty. Run npm run mutation:reach first.`);
    this.#reaches = files.map((name): Reach => JSON.parse(readFileSync(join(REACH_FOLDER, name), "utf8")));
  }

  /** Returns the tests for a mutant. `folders` are the test folders of its part, also with tests that `npm test` leaves out. */
  batchesFor({ file, names }: Mutant): { batches: TestBatch[]; others: string[]; folders: string[] } {
    const likeliest = Object.entries(NEAR_TESTS).find(([folder]) => file.startsWith(folder))?.[1] ?? [];
    const folders = [file.split("/", 2).join("/").replace("src", "test"), ...likeliest];
    const distance = ({ test }: Reach) => (folders.some((folder) => test.startsWith(folder)) ? 0 : 1);
    const reaching = this.#reaches
      .filter(({ functions }) => reachesOne(functions[file] ?? [], names))
      .sort((a, b) => distance(a) - distance(b) || a.ms - b.ms);
    const first: TestBatch = { tests: [], ms: 0 };
    const near: TestBatch = { tests: [], ms: 0 };
    const far: TestBatch = { tests: [], ms: 0 };
    const others: string[] = [];
    for (const reach of reaching) {
      const { test, ms } = reach;
      const isFirst = first.tests.length === 0 || first.ms + ms <= FIRST_MS;
      const batch = isFirst ? first : distance(reach) === 0 ? near : far;
      if (batch === far && far.ms > 0 && far.ms + ms > MOST_FAR_MS) {
        others.push(test);
        continue;
      }
      batch.tests.push(test);
      batch.ms += ms;
    }
    return { batches: [first, near, far].filter(({ tests }) => tests.length > 0), others, folders };
  }
}

/** Whether tests reach a mutant: they call its innermost named function, or run the file if the mutant is in no function. */
function reachesOne(called: readonly string[], names: readonly string[]): boolean {
  const [innermost] = names;
  return innermost === undefined ? called.length > 0 : called.includes(innermost);
}
