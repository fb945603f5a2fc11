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

/** A word that a POSIX shell reads as it is. */
const PLAIN_WORD_PATTERN = /^[\w@%+=:,./-]+$/;

const CONTROL_PATTERN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u;

/** A word for a POSIX shell; with control characters, which a terminal must not receive, one for bash and zsh. */
export function shellWord(word: string): string {
  if (PLAIN_WORD_PATTERN.test(word)) return word;
  if (!CONTROL_PATTERN.test(word)) return `'${word.replaceAll("'", "'\\''")}'`;
  const escaped = word.replace(/[\\']|[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (character) =>
    /[\\']/.test(character)
      ? `\\${character}`
      : [...Buffer.from(character)].map((byte) => `\\x${byte.toString(16).padStart(2, "0")}`).join(""),
  );
  return `$'${escaped}'`;
}

/** A command about an outbox, ready to paste. The arguments are keys, or options that contain no words of the caller's. */
export function outboxCommandLine(file: string, action: string, ...words: readonly string[]): string {
  // A key that looks like an option would be taken for one.
  const isKey = action === "show" || action === "resolve" || action === "cancel";
  const separator = isKey && words.some((word) => word.startsWith("-")) ? ["--"] : [];
  return ["stocklot", "outbox", file, action, ...separator, ...words].map(shellWord).join(" ");
}
