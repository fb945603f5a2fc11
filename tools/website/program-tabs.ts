/** Shows a task that a command and a program can do in two tabs, each with its output. */

/** A tab in Markdown: a bold name, then code with its output. */
const TAB = /\*\*(Command|Program)\*\*\n\n((?:```[\s\S]*?^```$\s*)+)/gm;

/** Two or more consecutive tabs. */
const GROUP = new RegExp(`^(?:${TAB.source}){2,}`, "gm");

/** Replaces consecutive tabs by a group of tabs like those of VitePress for code. */
export function withProgramTabs(markdown: string): string {
  let groups = 0;
  return markdown.replace(GROUP, (group) => {
    groups += 1;
    const tabs = [...group.matchAll(TAB)].map(([, name = "", blocks = ""], index) => ({
      input: inputOf(name, `way-${groups}`, index),
      block: `<div class="vp-block${index === 0 ? " active" : ""}">\n\n${blocks.trim()}\n\n</div>\n`,
    }));
    const inputs = tabs.map(({ input }) => input).join("");
    const blocks = tabs.map(({ block }) => block).join("");
    return `<div class="vp-code-group ways"><div class="tabs">${inputs}</div><div class="blocks">\n${blocks}</div></div>\n\n`;
  });
}

function inputOf(name: string, group: string, index: number): string {
  const id = `${group}-${index}`;
  const checked = index === 0 ? " checked" : "";
  return `<input type="radio" name="${group}" id="${id}"${checked}><label data-title="${name}" for="${id}">${name}</label>`;
}
