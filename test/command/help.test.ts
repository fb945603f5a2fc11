import { readFileSync } from "node:fs";
import type { Command } from "commander";
import { expect, it } from "vitest";
import { createProgram } from "../../src/command/program.js";

/** The help as it is printed. */
function helpOf(command: Command): string {
  let text = "";
  command.configureOutput({ writeOut: (part) => (text += part) });
  command.outputHelp();
  return text;
}

const leaves = (command: Command): Command[] =>
  command.commands.length === 0 ? [command] : command.commands.flatMap(leaves);
const nameOf = (command: Command): string =>
  command.parent ? `${nameOf(command.parent)} ${command.name()}`.trim() : command.name();
const commands = leaves(createProgram()).map((command) => [nameOf(command), command] as const);

it.each(commands)("the help of %s has at most 80 columns, its exit codes and one example", (name, command) => {
  const help = helpOf(command);
  expect(help.split("\n").filter((line) => line.length > 80)).toEqual([]);
  if (name === "stocklot connection") return;
  expect(help).toMatch(/\nExit codes:\n {2}0 {4}done\n[\s\S]*\n {2}130 {2}interrupted\n/);
  expect(help.split(`\n  ${name} `).length + Number(help.endsWith(`\n  ${name}\n`))).toBe(2);
});

it.each(commands)("the help of %s begins with its required options, in the usage and marked", (_name, command) => {
  const [usage = "", options = ""] = helpOf(command).split("\nOptions:\n");
  const required = command.options.filter(({ mandatory }) => mandatory);
  const rows = options.split("\n").filter((line) => /^ {2}-/.test(line));
  for (const [index, { flags }] of required.entries()) {
    expect(usage.replace(/\s+/g, " ")).toContain(flags);
    expect(rows[index]).toMatch(new RegExp(`^ {2}${flags} +required: `));
  }
});

it("describes the options of the connection once", () => {
  const described = commands.filter(([, command]) => helpOf(command).includes("--client-secret-file <file>"));
  expect(described.map(([name]) => name)).toEqual(["stocklot connection"]);
});

const guide = readFileSync(new URL("../../docs/command.md", import.meta.url), "utf8");
const program = createProgram();

/** The options of a command and of its subcommands. */
const optionsOf = ({ options, commands: subcommands }: Command): string[] => [
  ...options.flatMap(({ long }) => long ?? []),
  ...subcommands.flatMap(optionsOf),
];
const optionsIn = (text: string) => [...new Set(text.match(/--[a-z][a-z-]+/g))];

/** The text below a heading of the guide. */
const section = (heading: string) => new RegExp(`^## ${heading}\n(.*?)(?=^## |$(?![^]))`, "ms").exec(guide)?.[1] ?? "";

it("every command but the sandbox and the one for assistants prints JSON with --json", () => {
  const leaves = createProgram().commands.flatMap((command) =>
    command.commands.length > 0 ? command.commands : [command],
  );
  const without = leaves.filter(({ options }) => !options.some(({ long }) => long === "--json"));
  expect(without.map((command) => command.name())).toEqual(["sandbox", "mcp", "connection"]);
});

it("docs/command.md describes every option of each command, and names none that does not exist", () => {
  for (const command of program.commands) {
    const described = optionsIn(section(command.name()) + section("Connecting"));
    expect(optionsOf(command).filter((option) => !described.includes(option))).toEqual([]);
  }
  const known = ["--help", ...optionsOf(program)];
  expect(optionsIn(guide).filter((option) => !known.includes(option))).toEqual([]);
});
