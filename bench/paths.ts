/** The folder of the benchmark's builds, which git, the linter and the compiler ignore. */
const CACHE = new URL("./node_modules/.cache/stocklot-bench/", import.meta.url);

export const BUILT_PACKAGE = new URL("package/", CACHE);
export const GENERATED_CLIENT = new URL("hey-api/", CACHE);
export const RESULTS = new URL("./results.json", import.meta.url);
/** The chart of a section. */
export const chartPath = (section: string) => new URL(`./charts/${section}.svg`, import.meta.url);
