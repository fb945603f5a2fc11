#!/usr/bin/env node
import type { SandboxServer } from "./adapters/node-server.js";
/** The command `stocklot-sandbox`. */
import { type Command, parseCommand, type ServeCommand } from "./cli/arguments.js";
import { greeting, packageVersion, requestLine, USAGE } from "./cli/output.js";
import { createSandbox, type Sandbox } from "./sandbox.js";

process.exitCode = await main(process.argv.slice(2));

/** Returns the exit code; a running server keeps the process alive. */
async function main(args: readonly string[]): Promise<number> {
  let command: Command;
  try {
    command = parseCommand(args);
  } catch (error) {
    return fail(2, `${messageOf(error)}\nTry --help.`);
  }
  if (command.kind === "help") return print(USAGE);
  if (command.kind === "version") return print(packageVersion());
  return serve(command);
}

async function serve({ port, host, options }: ServeCommand): Promise<number> {
  let sandbox: Sandbox;
  let server: SandboxServer;
  try {
    sandbox = createSandbox(options);
  } catch (error) {
    return fail(2, messageOf(error));
  }
  try {
    server = await sandbox.listen({ port, host, page: true });
  } catch (error) {
    return fail(1, couldNotListen(error, port));
  }
  const colour = process.stdout.isTTY === true && !process.env.NO_COLOR;
  sandbox.onRequest((request) => print(requestLine(request, colour)));
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    process.once(signal, async () => {
      await server.close();
      print("# stopped");
    });
  }
  return print(greeting(server.url, sandbox));
}

function couldNotListen(error: unknown, port: number): string {
  if (error instanceof Error && "code" in error) {
    if (error.code === "EADDRINUSE") return `Port ${port} is taken. Choose another one with --port, or --port 0.`;
    if (error.code === "EACCES") return `Port ${port} may not be used. Choose another one with --port.`;
  }
  return messageOf(error);
}

function print(text: string): number {
  process.stdout.write(`${text}\n`);
  return 0;
}

function fail(exitCode: number, message: string): number {
  process.stderr.write(`stocklot-sandbox: ${message}\n`);
  return exitCode;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
