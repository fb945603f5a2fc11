import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { builtProgram } from "../../support/built-program.js";
import type { ReceiptReport } from "./receipts.js";

/** Variables of this machine that must not take effect. */
const FOREIGN = /^(https?_proxy|no_proxy|node_extra_ca_certs|node_options)$/i;

const program = await builtProgram(new URL("./receipt-program.ts", import.meta.url));

interface Run {
  baseUrl: string;
  remark: string;
  env: Record<string, string>;
}

/** Runs the program `receipt-program.ts` until it ends by itself. */
export async function runReceipts({ baseUrl, remark, env }: Run): Promise<ReceiptReport[]> {
  const inherited = Object.entries(process.env).filter(([name]) => !FOREIGN.test(name));
  const { stdout } = await promisify(execFile)(process.execPath, [program, remark], {
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
}
