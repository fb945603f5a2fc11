import { Command } from "commander";
import type { ClientOptions } from "../../client/index.js";
import { type ConnectionFlags, connectionOptions, withConnection } from "../connection.js";
import { EXIT, interruptSignal } from "../exit.js";
import { painter, plural, print, type Style, withProgress } from "../terminal.js";
import { examine } from "./examine.js";
import type { Finding } from "./finding.js";

interface DoctorFlags extends ConnectionFlags {
  json?: true;
}

const MARKS: Readonly<Record<Finding["verdict"], { mark: string; style: Style }>> = {
  ok: { mark: "✓", style: "green" },
  note: { mark: "–", style: "yellow" },
  problem: { mark: "✗", style: "red" },
};

export function doctorCommand(): Command {
  const command = new Command("doctor")
    .description("check the connection, the credentials and the behaviour of the service; writes nothing")
    .option("--json", "print the findings as JSON")
    .addHelpText("after", "\nExit code: 0, or 1 if something will not work.")
    .action(diagnose);
  return withConnection(command);
}

async function diagnose(flags: DoctorFlags): Promise<void> {
  const findings = await examineWithProgress(await connectionOptions(flags));
  const problems = findings.filter(({ verdict }) => verdict === "problem");
  process.exitCode = problems.length > 0 ? EXIT.failure : EXIT.success;
  if (flags.json) return print(JSON.stringify({ findings }, null, 2));
  for (const finding of findings) await print(lines(finding, process.stdout));
  await print(problems.length > 0 ? `\n${plural(problems.length, "problem")}` : "\nNo problems.");
}

/** Requests of an examination of a service on which every list can be read. */
const USUAL_REQUESTS = 15;

const examineWithProgress = (options: ClientOptions & { baseUrl: string }): Promise<Finding[]> =>
  withProgress((progress) => {
    let requests = 0;
    const request = () => {
      requests += 1;
      progress.update(`${requests} of about ${USUAL_REQUESTS} requests`);
    };
    return examine({ ...options, hooks: { request } }, interruptSignal());
  });

function lines({ aspect, verdict, summary, hint }: Finding, stream: NodeJS.WriteStream): string {
  const paint = painter(stream);
  const { mark, style } = MARKS[verdict];
  const line = `${paint(style, mark)} ${paint("bold", `${aspect}:`)} ${summary}`;
  return hint === undefined ? line : `${line}\n    ${paint("dim", hint)}`;
}
