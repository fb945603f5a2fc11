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
  const isKey = action === "show" || action === "resolve" || (action === "cancel" && words[0] !== "--delivery");
  const separator = isKey && words.some((word) => word.startsWith("-")) ? ["--"] : [];
  return ["stocklot", "outbox", file, action, ...separator, ...words].map(shellWord).join(" ");
}
