import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

const source = (path: string) => fileURLToPath(new URL(path, import.meta.url));

export default defineConfig({
  resolve: {
    alias: [
      { find: /^stocklot$/, replacement: source("./src/index.ts") },
      { find: /^stocklot\/(\w+)$/, replacement: source("./src/$1/index.ts") },
    ],
  },
  test: {
    include: ["test/**/*.test.ts"],
    testTimeout: 20_000,
    coverage: { provider: "v8", include: ["src/**/*.ts"], reporter: ["text", "json-summary"] },
  },
});
