/** Code in Markdown, which contains neither links nor headings. */
const CODE = /^```[\s\S]*?^```$|`[^`\n]+`/gm;

/** Returns the anchor of a heading, as repositories create it. */
export const anchorOf = (heading: string): string =>
  heading
    .replace(/^#+ /, "")
    .replace(/\[([^\]]*)\]\([^)]*\)/g, "$1")
    .trim()
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, "")
    .replaceAll(" ", "-");

/** Returns the text of the first heading. */
export const titleOf = (markdown: string): string => /^# (.+)$/m.exec(markdown)?.[1] ?? "";

/** Returns the first paragraph after the first heading, in one line. */
export const summaryOf = (markdown: string): string =>
  /^# .+\n\s*(?!```)([^\n#|<][\s\S]*?)\n(?:\n|$)/m.exec(markdown)?.[1]?.replaceAll("\n", " ") ?? "";

/** Replaces the targets of links and images, except in code. */
export function replaceTargets(markdown: string, replace: (target: string) => string): string {
  const pattern = new RegExp(`${CODE.source}|(\\]\\()([^)\\s]+)(\\))`, "gm");
  return markdown.replace(pattern, (all, before?: string, target?: string, after?: string) =>
    target === undefined ? all : `${before}${replace(target)}${after}`,
  );
}

/** Returns the text with its code replaced by "x". Line numbers stay the same. */
export const withoutCode = (markdown: string): string => markdown.replace(CODE, (code) => code.replace(/[^\n]/g, "x"));
