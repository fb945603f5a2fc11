import type { Reporter, TestModule } from "vitest/node";

/** Prints how long `npm test` takes, and which tests it has left out. */
export class QuickModeReporter implements Reporter {
  onInit(): void {
    console.log("Running the quick tests, which take about a minute on two idle cores.");
  }

  onTestRunEnd(modules: readonly TestModule[]): void {
    const skipped = modules
      .map(({ children }) => [...children.allTests("skipped")].length)
      .filter((count) => count > 0);
    if (skipped.length === 0) return;
    const tests = skipped.reduce((sum, count) => sum + count, 0);
    console.log(
      `\n${tests} tests in ${skipped.length} files were left out, and random tests were run with fewer cases: ` +
        "they take minutes, or need servers, a browser or other processes.\n`npm run test:all` runs everything.",
    );
  }
}
