import { existsSync } from "node:fs";
import { ONLY_IN_TEST_ALL, RUN_ALL } from "./runs.js";

const CHROMIUM = [process.env.CHROMIUM_PATH, "/usr/bin/chromium", "/usr/bin/chromium-browser"].find(
  (path) => path && existsSync(path),
);
const playwright = await import("playwright-core").catch(() => undefined);

const FLAGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

export type Browser = Awaited<ReturnType<NonNullable<typeof playwright>["chromium"]["launch"]>>;
export type BrowserPage = Awaited<ReturnType<Browser["newPage"]>>;

/**
 * Why tests cannot use a browser, which one line on the console reports too; `undefined` if they can.
 *
 * @throws Error if there is none in `npm run test:all` and `STOCKLOT_REQUIRE_BROWSER` is set.
 */
export function browserMissingReason(tests: string): string | undefined {
  const missing = !playwright ? "playwright-core is not installed" : CHROMIUM ? undefined : "there is no Chromium";
  const reason = RUN_ALL ? missing : ONLY_IN_TEST_ALL;
  if (RUN_ALL && reason && process.env.STOCKLOT_REQUIRE_BROWSER) throw new Error(`${tests} cannot be run: ${reason}.`);
  if (reason) console.warn(`${tests} are skipped: ${reason}.`);
  return reason;
}

export async function launchBrowser(): Promise<Browser> {
  if (!playwright || !CHROMIUM) throw new Error("no browser");
  return playwright.chromium.launch({ executablePath: CHROMIUM, args: FLAGS });
}

/** Collects the uncaught errors of a page, and those that it writes to the console, from now on. */
export function collectErrors(page: BrowserPage): string[] {
  const errors: string[] = [];
  page.on("pageerror", (error) => errors.push(error.message));
  page.on("console", (message) => {
    if (message.type() === "error") errors.push(message.text());
  });
  return errors;
}
