/** How a shell sets a variable, and starts a comment. */
export const SHELLS = {
  posix: { comment: "#", set: (name: string, value: string) => `export ${name}=${value}` },
  powershell: { comment: "#", set: (name: string, value: string) => `$env:${name} = "${value}"` },
  cmd: { comment: "REM", set: (name: string, value: string) => `set ${name}=${value}` },
};
export type Shell = keyof typeof SHELLS;

/** The shell that most likely started this process. */
export function currentShell({ env, platform }: Pick<NodeJS.Process, "env" | "platform"> = process): Shell {
  // PowerShell sets this variable elsewhere, too.
  if (platform !== "win32") return env.PSModulePath ? "powershell" : "posix";
  if (env.SHELL) return "posix";
  // PowerShell adds folders of the user to this variable; cmd.exe passes on the variable of the system unchanged.
  return (env.PSModulePath ?? "").split(";").length > 2 ? "powershell" : "cmd";
}

/** A word that a POSIX shell reads as it is. */
const PLAIN_WORD_PATTERN = /^[\w@%+=:,./-]+$/;

const CONTROL_PATTERN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u;

/** A word for a POSIX shell; with control characters, which a terminal must not receive, one for bash and zsh. */
export function shellWord(word: string): string {
  if (PLAIN_WORD_PATTERN.test(word)) return word;
  if (!CONTROL_PATTERN.test(word)) return `'${word.replaceAll("'", "'\\''")}'`;
  const bytes = Array.from(Buffer.from(word), (byte) =>
    PLAIN_WORD_PATTERN.test(String.fromCharCode(byte))
      ? String.fromCharCode(byte)
      : `\\x${byte.toString(16).padStart(2, "0")}`,
  );
  return `$'${bytes.join("")}'`;
}

/** How this command was started: npm and npx set the variable, and there is no `stocklot` on the path then. */
const program = () => (process.env.npm_command === undefined ? ["stocklot"] : ["npx", "stocklot"]);

/** A word that a person has to fill in. */
export interface Blank {
  blank: string;
}

const shown = (word: string | Blank) => (typeof word === "string" ? shellWord(word) : `<${word.blank}>`);

/** A command of this program that can be pasted as it is, once its blanks are filled in. */
export const commandLine = (...words: readonly (string | Blank)[]): string =>
  [...program(), ...words].map(shown).join(" ");

/** The argument that names an outbox; a blank for an address with a password, which others could read. */
export function outboxWord(file: string): string | Blank {
  const isAddress = /^(postgres(ql)?|socket):/i.test(file);
  return isAddress && /:\/*[^@/]*:.*@|password=/is.test(file) ? { blank: "your outbox" } : file;
}

/** A command about entries of an outbox. A key that looks like an option would be taken for one. */
export const outboxCommandLine = (action: string, file: string, ...words: readonly string[]): string =>
  commandLine(
    "outbox",
    action,
    ...(words.some((word) => word.startsWith("-")) ? ["--"] : []),
    outboxWord(file),
    ...words,
  );
