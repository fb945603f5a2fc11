import type { Command } from "commander";
import { setWording } from "../errors/wording.js";
import { outboxCommandLine } from "./outbox/paste.js";

/** Makes messages of the library name the options of this subcommand, and the variables that are set. */
export function useWordingOf(command: Command): void {
  const options: Readonly<Record<string, unknown>> = command.opts();
  const has = (name: string) => command.options.some(({ long }) => long === name);
  const setting = (option: string, name: string, variable: string) =>
    options[name] === undefined && process.env[variable] ? variable : option;
  setWording({
    baseUrl: setting("--base-url", "baseUrl", "STOCKLOT_BASE_URL"),
    clientId: setting("--client-id", "clientId", "STOCKLOT_CLIENT_ID"),
    clientSecret: setting("--client-secret-file", "clientSecretFile", "STOCKLOT_CLIENT_SECRET"),
    allowInsecureHttp: "--allow-insecure-http",
    timeoutMs: "--timeout",
    maxResponseBytes: "16 MiB",
    connectionString: has("--postgres") ? "--postgres" : "an outbox in PostgreSQL",
    maxDiscontinuedShare: "--max-discontinued-share",
    acceptResponses: has("--response-validation")
      ? "To accept such responses anyway, set --response-validation warn."
      : "",
    orTrustIssuer: "",
    useOwnTls: "",
    useClientCertificate:
      "If the server requires a client certificate, only a program can send it: see the guide on deployment.",
    chooseSchema: "Create one, or set the search_path of the user.",
    serviceId: "set --service-id (or STOCKLOT_SERVICE_ID) to",
    acceptAccount: "add --accept-account",
    orReadIncomplete: "",
    confirmRemovals: "confirm it with --allow-removals",
    decideOutcome: (key) =>
      `run ${outboxCommandLine(String(options.outbox ?? command.args[0]), "resolve", key, "applied")}, or the same with not-applied`,
  });
}
