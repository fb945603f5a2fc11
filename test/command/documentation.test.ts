import { readFileSync } from "node:fs";
import type { Command } from "commander";
import { expect, it } from "vitest";
import { createProgram } from "../../src/command/program.js";

const guide = readFileSync(new URL("../../docs/command.md", import.meta.url), "utf8");
const { commands } = createProgram();

/** The options of a command and of its subcommands. */
const optionsOf = ({ options, commands: subcommands }: Command): string[] => [
  ...options.flatMap(({ long }) => long ?? []),
  ...subcommands.flatMap(optionsOf),
];
const optionsIn = (text: string) => [...new Set(text.match(/--[a-z][a-z-]+/g))];

/** The text below a heading of the guide. */
const section = (heading: string) => new RegExp(`^## ${heading}\n(.*?)(?=^## |$(?![^]))`, "ms").exec(guide)?.[1] ?? "";

it.each(
  commands.filter((command) => command.name() !== "connection").map((command) => [command.name(), command] as const),
)("docs/command.md describes every option of %s", (name, command) => {
  const described = optionsIn(section(name) + section("Connecting"));
  expect(optionsOf(command).filter((option) => !described.includes(option))).toEqual([]);
});

it("docs/command.md names no option that does not exist", () => {
  const known = ["--help", "--version", ...commands.flatMap(optionsOf)];
  expect(optionsIn(guide).filter((option) => !known.includes(option))).toEqual([]);
});
