import { Command, CommanderError } from "commander";
import { nearestName } from "../shared/unknown-name.js";
import { VERSION } from "../shared/version.js";
import { connectionTopic } from "./connection.js";
import { doctorCommand } from "./doctor/command.js";
import { EXIT, exitCodeOf, failureMessage } from "./exit.js";
import { exportCommand } from "./export/command.js";
import { getCommand } from "./get.js";
import { arrangeHelp } from "./help.js";
import { importCommand } from "./import/command.js";
import { mcpCommand } from "./mcp.js";
import { mirrorCommand } from "./mirror.js";
import { outboxCommand } from "./outbox/command.js";
import { applyCommand } from "./plan/apply.js";
import { countCommand } from "./plan/count.js";
import { planCommand } from "./plan/plan-items.js";
import { sandboxCommand } from "./sandbox/command.js";
import { hideExperimentalWarnings, tell } from "./terminal.js";

export async function run(args: readonly string[]): Promise<number> {
  hideExperimentalWarnings();
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    // A reader such as `head` that has seen enough closes the pipe.
    if (error.code === "EPIPE") process.exit();
    tell(`stocklot: standard output: ${error.message}`);
    process.exit(EXIT.failure);
  });
  // Messages that cannot be written must not end the command.
  process.stderr.on("error", () => {});
  let hintFor = (_message: string) => "";
  try {
    const program = createProgram().hook("preAction", (_, command) => {
      hintFor = (message) => usageHintOf(message, command);
    });
    await program.parseAsync(args, { from: "user" });
    return Number(process.exitCode ?? EXIT.success);
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.success : EXIT.usage;
    const message = failureMessage(error);
    tell(`stocklot: ${message}${hintFor(message)}`);
    return exitCodeOf(error);
  }
}

const PROGRAM_HELP = `
First steps: stocklot sandbox serves a service to try; stocklot doctor examines
yours. STOCKLOT_BASE_URL, STOCKLOT_CLIENT_ID and STOCKLOT_CLIENT_SECRET say
where the service is; stocklot help connection has more.

Exit codes: 0 done, 1 something needs attention, 2 wrong use (nothing was sent),
3 nothing to do because it was done before, 4 (plan --exit-code) there is
something to do, 130 interrupted.`;

export function createProgram(): Command {
  const stocklot = new Command("stocklot")
    .description("Look at, copy and change what the Inventory and Item Catalog Service stores.")
    .version(VERSION, "-v, --version")
    .addHelpText("after", PROGRAM_HELP);
  const commands = [
    doctorCommand(),
    sandboxCommand(),
    getCommand(),
    exportCommand(),
    importCommand(),
    outboxCommand(),
    planCommand(),
    countCommand(),
    applyCommand(),
    mirrorCommand(),
    mcpCommand(),
  ];
  for (const command of commands) stocklot.addCommand(command);
  const topic = connectionTopic();
  stocklot.addCommand(topic, { hidden: true });
  const all = [stocklot, topic, ...commands.flatMap((command) => [command, ...command.commands])];
  const allOptions = all.flatMap(optionNames);
  for (const command of all) {
    arrangeHelp(command);
    command.exitOverride().showHelpAfterError("Try --help.");
    const { error } = command;
    command.error = (message, options) =>
      error.call(command, describeOptionError(options?.code, command, allOptions) ?? message, options);
  }
  return stocklot;
}

const optionNames = ({ options }: Command) => options.flatMap(({ long }) => long ?? []);

const SECRET_OPTION_PATTERN = /^--client-?secret(?!-f)/i;

/**
 * A required option that is missing may be the misspelt one. The value of an unknown option is never shown, and its name
 * only if it is a misspelt option, or one of another command: both may be a secret.
 */
function describeOptionError(code: string | undefined, command: Command, allOptions: readonly string[]) {
  const given = command.args.find((argument) => /^-./.test(argument));
  if (given === undefined || !OPTION_ERROR_CODES.includes(String(code))) return undefined;
  const [secretOption] = SECRET_OPTION_PATTERN.exec(given) ?? [];
  if (secretOption !== undefined)
    return `error: unknown option '${secretOption}': the secret must not be an argument, since others can see it. Use STOCKLOT_CLIENT_SECRET or --client-secret-file.`;
  const [name = ""] = given.split("=", 1);
  const nearest = nearestName(name, optionNames(command));
  const isMisspelt = nearest !== undefined && Math.abs(name.length - nearest.length) <= MAX_MISSPELT_LETTERS;
  const shown = isMisspelt || allOptions.includes(name) ? ` '${name}'` : ", not shown because it may be a secret";
  return `error: unknown option${shown}${nearest === undefined ? "" : `\n(Did you mean ${nearest}?)`}`;
}

const OPTION_ERROR_CODES = ["commander.unknownOption", "commander.missingMandatoryOptionValue"];

const MAX_MISSPELT_LETTERS = 4;

/** Options of the client, by the name of the command's option if that is another one. */
const CLIENT_NAMES: Readonly<Record<string, string>> = {
  clientSecretFile: "clientSecret",
  timeout: "timeoutMs",
  settle: "settleMs",
  postgres: "connectionString",
};

/** Returns what sets the client options that a message names: options of this subcommand, or variables that are set. */
function usageHintOf(message: string, command: Command): string {
  const means = command.options.flatMap((option) => {
    const attribute = option.attributeName();
    const name = CLIENT_NAMES[attribute] ?? attribute;
    // A name without a capital may be a word of the sentence.
    if (!/[A-Z]/.test(name) || !new RegExp(`\\b${name}\\b`).test(message)) return [];
    const variable = `STOCKLOT_${name.replace(/[A-Z]/g, "_$&").toUpperCase()}`;
    const isByVariable = process.env[variable] && command.getOptionValue(attribute) === undefined;
    return `${name} by ${isByVariable ? variable : option.long}`;
  });
  return means.length === 0 ? "" : `\nHere, ${means.join(", ").replace(" by ", " is set by ")}.`;
}
