// Prints the last lines of a CI run: the tests that failed, why they failed, and the number of tests.
import { readFileSync } from "node:fs";

const MOST_LINES = 12;

/** Returns the results of a test run; empty results if the run did not end. */
function resultsOf(file) {
  try {
    return JSON.parse(readFileSync(file, "utf8"));
  } catch {
    return { testResults: [], numPassedTests: 0, numFailedTests: 0, numPendingTests: 0 };
  }
}

const runs = ["coverage/tests.json", "coverage/package.json", "coverage/sqlite.json"].map(resultsOf);
for (const { name, status, message, assertionResults } of runs.flatMap(({ testResults }) => testResults)) {
  const failed = assertionResults.filter((test) => test.status === "failed");
  if (status === "failed" && failed.length === 0) console.log(`FAILED ${name}\n${message}`);
  for (const { fullName, failureMessages } of failed)
    console.log(
      `FAILED ${name}: ${fullName}\n${failureMessages.join("\n").split("\n").slice(0, MOST_LINES).join("\n")}`,
    );
}
const sum = (key) => runs.reduce((total, run) => total + run[key], 0);
console.log(`${sum("numPassedTests")} passed, ${sum("numFailedTests")} failed, ${sum("numPendingTests")} skipped`);
