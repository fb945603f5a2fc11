import { execFileSync } from "node:child_process";
import { existsSync, rmSync, statSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { build } from "tsup";
import manifest from "../package.json" with { type: "json" };
import { BUILT_PACKAGE, GENERATED_CLIENT } from "./paths.js";

/** Installs the peers, generates the generated client, and builds the package, so that the published code is measured. */
export async function prepare(): Promise<void> {
  installPeers();
  const specification = new URL("./peers/openapi.json", import.meta.url);
  const generated = new URL("sdk.gen.ts", GENERATED_CLIENT);
  if (!existsSync(generated) || statSync(generated).mtimeMs < statSync(specification).mtimeMs) {
    const { generateClient } = await import("./peers/generate.mjs");
    await generateClient(GENERATED_CLIENT);
  }
  rmSync(BUILT_PACKAGE, { recursive: true, force: true });
  await build({ outDir: fileURLToPath(BUILT_PACKAGE), dts: false, silent: true });
  // Without the `imports` of the package, #undici would not be found, and the client would send requests with fetch.
  const { type, imports } = manifest;
  writeFileSync(new URL("package.json", BUILT_PACKAGE), JSON.stringify({ type, imports }));
}

function installPeers(): void {
  const wanted = new URL("./package.json", import.meta.url);
  const installed = new URL("./node_modules/.package-lock.json", import.meta.url);
  if (existsSync(installed) && statSync(installed).mtimeMs > statSync(wanted).mtimeMs) return;
  console.log("installing the peers …");
  const folder = fileURLToPath(new URL(".", import.meta.url));
  execFileSync("npm", ["install", "--no-package-lock", "--no-audit", "--no-fund", "--loglevel=error"], {
    cwd: folder,
    stdio: "inherit",
  });
}
