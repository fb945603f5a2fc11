/** A word that a POSIX shell reads as it is. */
const PLAIN_WORD_PATTERN = /^[\w@%+=:,./-]+$/;

/** A word for a POSIX shell. */
export const shellWord = (word: string): string =>
  PLAIN_WORD_PATTERN.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;

/** A command about an outbox, ready to paste. The arguments are keys, or options that contain no words of the caller's. */
export function outboxCommandLine(file: string, action: string, ...words: readonly string[]): string {
  // A key that looks like an option would be taken for one.
  const isKey = action === "show" || action === "resolve" || (action === "cancel" && words[0] !== "--delivery");
  const separator = isKey && words.some((word) => word.startsWith("-")) ? ["--"] : [];
  return ["stocklot", "outbox", file, action, ...separator, ...words].map(shellWord).join(" ");
}
