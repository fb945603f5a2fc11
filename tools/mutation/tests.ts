import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Mutant } from "./mutants.js";

/** Where `reach.ts` writes one file per file of tests. */
export const REACH_FOLDER = "coverage/reach";

/** What a file of tests calls. */
export interface Reach {
  test: string;
  /** Its duration, in ms. */
  ms: number;
  /** Names of the functions that it calls, per file of the source. */
  functions: Record<string, string[]>;
}

/** The tests that are the likeliest to notice a mutant of a folder, besides those in the folder of the same name. */
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

/** Most mutants are killed within these milliseconds of tests. */
const FIRST_MS = 5_000;
/** Of the tests besides the likeliest, this much is run. The names of the others are printed, for a person to judge. */
const MOST_FAR_MS = 90_000;

export interface TestBatch {
  tests: string[];
  /** Their duration without a mutant, in ms. */
  ms: number;
}

/** In which files to look for a test that notices a mutant: the likeliest ones, then the others that reach its function. */
export class Tests {
  readonly #reaches: readonly Reach[];

  constructor() {
    const files = existsSync(REACH_FOLDER) ? readdirSync(REACH_FOLDER) : [];
    if (files.length === 0) throw new Error(`${REACH_FOLDER} is empty. Run npm run mutation:reach first.`);
    this.#reaches = files.map((name): Reach => JSON.parse(readFileSync(join(REACH_FOLDER, name), "utf8")));
  }

  /** `folders` have the tests of the mutant's part, among them those that are left out of `npm test`. */
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

/** The innermost function with a name that V8 knows decides; code outside of functions runs when the file is loaded. */
function reachesOne(called: readonly string[], names: readonly string[]): boolean {
  const [innermost] = names;
  return innermost === undefined ? called.length > 0 : called.includes(innermost);
}
