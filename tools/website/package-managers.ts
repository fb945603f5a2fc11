/** Shows commands of npm in tabs, with the commands of other package managers. */

const MANAGERS: Readonly<Record<string, (command: string) => string>> = {
  npm: (command) => command,
  pnpm: (command) => translated(command, "pnpm init", "pnpm add", "pnpm exec"),
  yarn: (command) => translated(command, "yarn init -y", "yarn add", "yarn"),
  bun: (command) => translated(command, "bun init -y", "bun add", "bunx"),
};

const translated = (command: string, init: string, add: string, run: string) =>
  command
    .replace(/^npm init -y/, init)
    .replace(/^npm install/, add)
    .replace(/^npx/, run);

/** Replaces each block that installs a package by a group of tabs. */
export const withTabs = (markdown: string): string =>
  markdown.replace(/^```sh\n((?:.*\n)*?)```$/gm, (block, code: string) => {
    if (!/^npm install [a-z]/m.test(code)) return block;
    const tabs = Object.entries(MANAGERS).map(
      ([name, translate]) => `\`\`\`sh [${name}]\n${code.split("\n").map(translate).join("\n")}\`\`\``,
    );
    return `::: code-group\n\n${tabs.join("\n\n")}\n\n:::`;
  });
