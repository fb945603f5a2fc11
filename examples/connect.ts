/** The service of the examples: the one in the environment variables, or a sandbox in this process. */
import { fileURLToPath } from "node:url";
import type { ClientOptions } from "stocklot";
import { createSandbox, type Sandbox, type SandboxOptions } from "stocklot/sandbox";

export interface Connection {
  /** Options for the client. */
  service: Pick<ClientOptions, "baseUrl" | "clientId" | "clientSecret" | "fetch">;
  /** Undefined for a real service. */
  sandbox: Sandbox | undefined;
}

const VARIABLES = ["STOCKLOT_BASE_URL", "STOCKLOT_CLIENT_ID", "STOCKLOT_CLIENT_SECRET"];

export function connect(options: SandboxOptions = {}): Connection {
  if (VARIABLES.some((name) => process.env[name])) {
    console.log(`Using the service that ${VARIABLES[0]} names.`);
    // The client reads the variables itself.
    return { service: {}, sandbox: undefined };
  }
  console.log(`Using a sandbox in this process. For a real service, set ${VARIABLES.join(", ")}.`);
  const sandbox = createSandbox(options);
  return { service: { baseUrl: sandbox.baseUrl, ...sandbox.credentials, fetch: sandbox.fetch }, sandbox };
}

/** A path in examples/out, which git ignores; the writer creates the folder. */
export function outFile(name: string): string {
  return fileURLToPath(new URL(`./out/${name}`, import.meta.url));
}
