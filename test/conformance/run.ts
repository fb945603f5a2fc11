/**
 * Runs the conformance suite against a service, live or sandbox:
 *
 * npm run conformance -- --base-url https://…/api/v1 [--client-id …] [--client-secret …] [--allow-writes]
 */
import { parseArgs } from "node:util";
import { type Check, NotApplicable } from "./check.js";
import { SUITE } from "./suite.js";
import { type Credentials, type OtherClient, Target } from "./target.js";

const USAGE = `Usage: npm run conformance -- --base-url <url> [options]

  --base-url <url>              ends with the version segment (STOCKLOT_BASE_URL)
  --client-id <id>              (STOCKLOT_CLIENT_ID)
  --client-secret <secret>      (STOCKLOT_CLIENT_SECRET)
  --allow-writes                also create, change and discontinue items named CONF/..., and move stock of them
  --reason-code <n>             reason code for receipts and issues (1)
  --read-only-client <id:secret>, --scoped-client <id:secret>, --powerless-client <id:secret>
                                clients for the checks of permissions and scope; skipped without
  --exhaust-rate-limit          also use up the rate limit, and check the response
  --help                        show this

About 70 requests are made (120 with writes); a 429 is waited out.`;

const { values } = parseArgs({
  options: {
    "base-url": { type: "string", default: process.env.STOCKLOT_BASE_URL ?? "" },
    "client-id": { type: "string", default: process.env.STOCKLOT_CLIENT_ID ?? "" },
    "client-secret": { type: "string", default: process.env.STOCKLOT_CLIENT_SECRET ?? "" },
    "allow-writes": { type: "boolean", default: false },
    "reason-code": { type: "string", default: "1" },
    "read-only-client": { type: "string" },
    "scoped-client": { type: "string" },
    "powerless-client": { type: "string" },
    "exhaust-rate-limit": { type: "boolean", default: false },
    help: { type: "boolean", default: false },
  },
});

const others: { [Kind in OtherClient]?: Credentials } = {
  ...client("readOnlyClient", values["read-only-client"]),
  ...client("scopedClient", values["scoped-client"]),
  ...client("powerlessClient", values["powerless-client"]),
};

const count = { passed: 0, failed: 0, skipped: 0 };
process.exitCode = values.help ? say(USAGE, 0) : await run();

async function run(): Promise<number> {
  const credentials = { clientId: values["client-id"], clientSecret: values["client-secret"] };
  if (!values["base-url"] || !credentials.clientId || !credentials.clientSecret) return say(USAGE, 2);
  const reasonCode = Number(values["reason-code"]);
  const service = new Target({ baseUrl: values["base-url"], credentials, reasonCode, others });
  for (const check of SUITE) {
    const [outcome, note] = await outcomeOf(check, service);
    count[outcome] += 1;
    say(`${outcome.padEnd(8)} ${check.paragraph}: ${check.name}${note ? `\n         ${note}` : ""}`, 0);
  }
  return say(`\n${count.passed} passed, ${count.failed} failed, ${count.skipped} skipped`, count.failed > 0 ? 1 : 0);
}

async function outcomeOf(check: Check, service: Target): Promise<[keyof typeof count, note?: string | undefined]> {
  if (!allowed(check)) return ["skipped", check.needs];
  try {
    await check.run(service);
    return ["passed"];
  } catch (error) {
    const note = error instanceof Error ? error.message.split("\n")[0] : String(error);
    return [error instanceof NotApplicable ? "skipped" : "failed", note];
  }
}

/** Checks with other clients send writes as well, which a service that is right refuses. */
function allowed({ needs }: Check): boolean {
  if (needs === undefined) return true;
  if (needs === "exhaustion") return values["exhaust-rate-limit"];
  return values["allow-writes"] && (needs === "writes" || others[needs] !== undefined);
}

function client<Kind extends OtherClient>(kind: Kind, text: string | undefined): { [K in OtherClient]?: Credentials } {
  const [clientId, clientSecret] = text?.split(":") ?? [];
  return clientId && clientSecret ? { [kind]: { clientId, clientSecret } } : {};
}

function say(text: string, exitCode: number): number {
  console.log(text);
  return exitCode;
}
