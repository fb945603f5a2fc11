import { type Argument, type Command, Help, type Option } from "commander";
import { wrapped } from "./terminal.js";

const HELP_WIDTH = 80;

const EXIT_CODES = { 0: "done", 2: "wrong use; nothing was sent", 130: "interrupted" };

/** Returns the end of a command's help: its own exit codes and an example. */
export function withHelp(command: Command, exitCodes: Readonly<Record<number, string>>, ...example: string[]): Command {
  const codes = Object.entries({ ...EXIT_CODES, ...exitCodes }).map(
    ([code, meaning]) => `  ${code.padEnd(4)} ${wrapped(meaning, 7, HELP_WIDTH)}`,
  );
  const shown = example.map((line) => `  ${line}`);
  return command.addHelpText("after", ["", "Exit codes:", ...codes, "", "Example:", ...shown].join("\n"));
}

/** Required options come first, and are marked. */
class RequiredFirst extends Help {
  override visibleOptions(command: Command): Option[] {
    const options = super.visibleOptions(command);
    return [...options.filter(({ mandatory }) => mandatory), ...options.filter(({ mandatory }) => !mandatory)];
  }

  override optionDescription(option: Option): string {
    const description = super.optionDescription(option);
    return option.mandatory ? `required: ${description}` : description;
  }
}

/** Help of at most 80 columns, with the required options in the usage, too. */
export function arrangeHelp(command: Command): void {
  command.createHelp = () => Object.assign(new RequiredFirst(), { helpWidth: HELP_WIDTH });
  if (command.commands.length > 0) return;
  const required = command.options.filter(({ mandatory }) => mandatory).map(({ flags }) => flags);
  const hasOptions = command.options.some(({ mandatory, hidden }) => !mandatory && !hidden);
  const words = [...command.registeredArguments.map(argumentTerm), ...required, ...(hasOptions ? ["[options]"] : [])];
  const start = `Usage: stocklot ${fullNameOf(command)} `;
  command.usage(wrapped(words.join(" "), start.length, HELP_WIDTH));
}

const fullNameOf = (command: Command): string =>
  command.parent?.parent ? `${fullNameOf(command.parent)} ${command.name()}` : command.name();

const argumentTerm = (argument: Argument) => {
  const name = argument.name() + (argument.variadic ? "..." : "");
  return argument.required ? `<${name}>` : `[${name}]`;
};
