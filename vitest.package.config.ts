import { defineConfig } from "vitest/config";

export default defineConfig({
  test: { include: ["test/package/**/*.test.ts"], testTimeout: 240_000, hookTimeout: 240_000 },
});
