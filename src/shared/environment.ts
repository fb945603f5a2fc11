/** Deno, as far as it is used here. */
declare const Deno:
  | { permissions: { querySync(wanted: { name: "env"; variable?: string }): { state: string } } }
  | undefined;

/** Whether the program may read a variable of the environment, or all of them. Deno would throw, or ask its user. */
export function mayReadEnvironment(variable?: string): boolean {
  if (typeof Deno === "undefined") return globalThis.process?.env !== undefined;
  const wanted = variable === undefined ? {} : { variable };
  return Deno.permissions.querySync({ name: "env", ...wanted }).state === "granted";
}

export const environmentVariable = (name: string): string | undefined =>
  mayReadEnvironment(name) ? process.env[name] : undefined;
