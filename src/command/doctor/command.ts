import { Command } from "commander";
import { type ConnectionFlags, connectionOptions, withConnection } from "../connection.js";
import { EXIT, interruptSignal } from "../exit.js";
import { withHelp } from "../help.js";
import { painter, plural, print, printJson, type Style, withProgress, wrapped } from "../terminal.js";
import { CHECKS, type Finding } from "./checks.js";
import { probeService } from "./probe.js";

interface DoctorFlags extends ConnectionFlags {
  json?: true;
}

const MARKS: Readonly<Record<Finding["verdict"], { mark: string; style: Style }>> = {
  ok: { mark: "✓", style: "green" },
  note: { mark: "–", style: "yellow" },
  problem: { mark: "✗", style: "red" },
};

/** Requests to a service on which every list can be read. */
const USUAL_REQUESTS = 12;

export function doctorCommand(): Command {
  const command = new Command("doctor")
    .description("check the connection, the credentials and the behaviour of the service; writes nothing")
    .option("--json", "print the findings as JSON")
    .action(diagnose);
  return withHelp(withConnection(command), { 1: "something will not work" }, "stocklot doctor");
}

async function diagnose(flags: DoctorFlags): Promise<void> {
  const options = await connectionOptions(flags);
  const probe = await withProgress((progress) => {
    let requests = 0;
    return probeService(options, interruptSignal(), () => {
      requests += 1;
      progress(`${requests} of about ${USUAL_REQUESTS} requests`);
    });
  });
  const findings = CHECKS.flatMap((check) => check(probe));
  const problems = findings.filter(({ verdict }) => verdict === "problem");
  process.exitCode = problems.length > 0 ? EXIT.failure : EXIT.success;
  if (flags.json) return printJson({ findings }, 2);
  for (const finding of findings) await print(lines(finding));
  await print(problems.length > 0 ? `\n${plural(problems.length, "problem")}` : "\nNo problems.");
}

function lines({ aspect, verdict, summary, hint }: Finding): string {
  const paint = painter(process.stdout);
  const { mark, style } = MARKS[verdict];
  const text = wrapped(`${aspect}: ${summary}`, 2).slice(aspect.length + 1);
  const line = `${paint(style, mark)} ${paint("bold", `${aspect}:`)}${text}`;
  return hint === undefined ? line : `${line}\n    ${wrapped(hint, 4)}`;
}
