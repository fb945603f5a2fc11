/** How a shell sets a variable, and starts a comment. */
export const SHELLS = {
  posix: { comment: "#", set: (name: string, value: string) => `export ${name}=${value}` },
  powershell: { comment: "#", set: (name: string, value: string) => `$env:${name} = "${value}"` },
  cmd: { comment: "REM", set: (name: string, value: string) => `set ${name}=${value}` },
};
export type Shell = keyof typeof SHELLS;
export const SHELL_NAMES = Object.keys(SHELLS);

/** The shell that most likely started this process. */
export function currentShell({ env, platform }: Pick<NodeJS.Process, "env" | "platform"> = process): Shell {
  if (platform !== "win32" || env.SHELL) return "posix";
  // PowerShell adds folders of the user to this variable; cmd.exe passes on the one of the system.
  return (env.PSModulePath ?? "").split(";").length > 2 ? "powershell" : "cmd";
}
