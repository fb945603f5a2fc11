import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { build } from "esbuild";
import type { ReceiptReport } from "./receipts.js";

/** The program `receipt-program.ts`, ready to be run. */
export interface ReceiptProgram {
  /** Runs it until it ends by itself. */
  run(run: {
    baseUrl: string;
    transport: "undici" | "fetch";
    remark: string;
    env: Record<string, string>;
  }): Promise<ReceiptReport[]>;
  remove(): void;
}

const ROOT = fileURLToPath(new URL("../../..", import.meta.url));
/** Variables of this machine that must not take effect. */
const FOREIGN = /^(https?_proxy|no_proxy|node_extra_ca_certs|node_options)$/i;

/** Builds the program once: it then starts within half a second. */
export async function buildReceiptProgram(): Promise<ReceiptProgram> {
  const folder = mkdtempSync(join(tmpdir(), "stocklot-receipts-"));
  symlinkSync(join(ROOT, "node_modules"), join(folder, "node_modules"));
  const outfile = join(folder, "receipts.mjs");
  await build({
    entryPoints: [join(ROOT, "test/network/support/receipt-program.ts")],
    outfile,
    bundle: true,
    format: "esm",
    platform: "node",
    target: "node20",
    packages: "external",
  });
  return {
    async run({ baseUrl, transport, remark, env }) {
      const inherited = Object.entries(process.env).filter(([name]) => !FOREIGN.test(name));
      const { stdout } = await promisify(execFile)(process.execPath, [outfile, transport, remark], {
        timeout: 25_000,
        env: {
          ...Object.fromEntries(inherited),
          STOCKLOT_BASE_URL: baseUrl,
          STOCKLOT_CLIENT_ID: "scanner",
          STOCKLOT_CLIENT_SECRET: "canary-secret-0123456789abcdef",
          ...env,
        },
      });
      return JSON.parse(stdout);
    },
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}
