import { readFileSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { expect, it } from "vitest";
import { esbuild, REQUIRE, webpack } from "./bundle.js";
import { run } from "./consumer.js";
import { mainPath } from "./runtimes.js";
import { startServices } from "./services.js";

const guide = readFileSync(new URL("../../docs/operating.md", import.meta.url), "utf8");

it.each([
  { bundle: esbuild, program: "main.mjs", file: "esbuild.mjs" },
  { bundle: esbuild, program: "main.mjs", file: "esbuild.cjs" },
  { bundle: esbuild, program: "main.cjs", file: "esbuild-of-cjs.cjs" },
  { bundle: webpack, program: "main.mjs", file: "webpack.mjs" },
  { bundle: webpack, program: "main.cjs", file: "webpack.cjs" },
])("works bundled, from $program to $file", async ({ bundle, program, file }) => {
  const bundled = await bundle(program, file);
  expect(await run(dirname(bundled), process.execPath, bundled)).toBe("300 lots, NotFoundError: true");
});

it("leaves the transport out of a bundle that only reads dates", async () => {
  const bundled = await esbuild("shake.mjs", "shake.mjs");
  expect(await run(dirname(bundled), process.execPath, bundled)).toBe("2026-01-31T08:00:00.000Z");
  expect(statSync(bundled).size).toBeLessThan(20_000);
});

it("takes as much space, alone in a bundle, as the guide states", async () => {
  const stated = /takes (\d+) kB: (\d+) kB without undici, and (\d+) kB without undici and zod/.exec(guide) ?? [];
  const without = [[], ["#undici"], ["#undici", "zod"]];
  for (const [index, packages] of without.entries()) {
    const external = packages.map((name) => `--external:${name}`);
    const kilobytes = statSync(await esbuild("client.mjs", `client-${index}.mjs`, "", external)).size / 1_000;
    expect(kilobytes / Number(stated[index + 1]), `without ${packages}: ${kilobytes} kB`).toBeCloseTo(1, 1);
  }
});

it.each([
  { file: "lambda.cjs", transport: "undici" },
  { file: "lambda.mjs", transport: "fetch" },
  { file: "lambda-with-require.mjs", banner: REQUIRE, transport: "undici" },
])("takes every step of the main path in one file, $file, and sends with $transport", async (bundle) => {
  const bundled = await esbuild("runtimes/main-path-of-process.mjs", bundle.file, bundle.banner);
  const services = await startServices();
  const output = await run(dirname(bundled), process.execPath, bundled, JSON.stringify(services.addresses));
  const { failed, transport } = mainPath.parse(JSON.parse(output));
  expect(failed).toEqual({});
  expect(transport).toBe(bundle.transport);
  services.expectNothingTwice();
  await services.close();
});
