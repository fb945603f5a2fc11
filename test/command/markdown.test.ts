import MarkdownIt from "markdown-it";
import { type CountPlan, planCount, planItems, takeSnapshot } from "stocklot/plan";
import { describe, expect, it } from "vitest";
import { planMarkdown, shownValue } from "../../src/command/plan/markdown.js";
import { item, world } from "../plan/support.js";
import { seededRandom } from "../support/random.js";

const renderer = new MarkdownIt();
const ENTITIES: Readonly<Record<string, string>> = { lt: "<", gt: ">", amp: "&", quot: '"' };

/** The texts that a reader sees, one per element. */
const textsOf = (markdown: string): string[] =>
  renderer
    .render(markdown)
    .split(/<[^>]*>/)
    .map((text) => text.replace(/&(lt|gt|amp|quot);/g, (_, name: string) => ENTITIES[name] ?? ""));

const NASTY = [
  "*bold* _it_ ~~no~~",
  "<script>alert(1)</script>",
  "a | b | c",
  "`code`",
  "``",
  "`",
  "```\nfence\n```",
  "~~~",
  "line 1\nline 2",
  "a\n\n\n# heading\n- list",
  "![x](http://x/y)",
  "[a](b)",
  "&amp; &lt; &#42;",
  "\\* \\",
  " leading",
  "trailing ",
  "a  b",
  "a\tb",
  "\n",
  "- x",
  "1. x",
  "> q",
  "    code",
  "@team #12",
  "http://example.com",
  "``` ` ``",
  "a\r\nb",
  "\ta\n\tb",
  "a``b`c",
  "\u{1f468}\u200d\u{1f33e}",
];

describe("a plan as Markdown", () => {
  it("shows every value byte for byte", async () => {
    const { client } = world(
      [...NASTY.keys()].map((index) => item(`S${index}`, { description: `old ${NASTY[index]}` })),
    );
    const desired = NASTY.map((description, index) => ({ shortID: `S${index}`, description: `${description} ` }));
    const created = NASTY.filter((sku) => sku === sku.trim() && !/[\s/\p{Cc}\p{Cf}]/u.test(sku)).map(
      (shortID, index) => ({
        shortID,
        description: NASTY[index] ?? "",
      }),
    );
    const plan = await planItems({ client, desired: [...desired, ...created] });
    expect(plan.changes).toHaveLength(desired.length + created.length);
    const texts = textsOf(planMarkdown(plan));
    // The renderer ends the text of a code block with a line break.
    const isShown = (value: string) => texts.includes(value) || texts.includes(`${value}\n`);
    for (const description of NASTY)
      for (const value of [`old ${description}`, `${description} `])
        expect([value, isShown(value)]).toEqual([value, true]);
    for (const { shortID } of created) expect([shortID, isShown(shortID)]).toEqual([shortID, true]);
  });

  it("shows random texts of the characters that mean something, and control characters as JSON", () => {
    const random = seededRandom(64);
    const characters = [..."`*_<>|&#\\[]()!~-+ \n\tab1."];
    for (let times = 0; times < 2_000; times += 1) {
      const value = Array.from({ length: 1 + random(12) }, () => characters[random(characters.length)]).join("");
      const shown = shownValue(value);
      const texts = textsOf("span" in shown ? `- x ${shown.span}` : `- x\n\n${shown.blocks.join("\n\n")}`);
      expect([value, texts.some((text) => text === value || text === `${value}\n`)]).toEqual([value, true]);
    }
    const [, hidden = ""] =
      "blocks" in shownValue("a\u202eb\u0000c\u00a0") ? Object(shownValue("a\u202eb\u0000c\u00a0")).blocks : [];
    expect(hidden).toBe('```\n"a\\u202eb\\u0000c\\u00a0"\n```');
  });

  it("shows the groups and lots of a count, and what the plan cannot know", async () => {
    const lots = [
      { shortID: "A*", wID: 1, spot: "<b>", serial: "x|y", units: 5, received: "2025-01-02T00:00:00Z" },
      { shortID: "B", wID: 1, spot: "`", units: 5, received: "2025-01-02T00:00:00Z", hold: true },
    ];
    const { client } = world([item("A*"), item("B")], { lots });
    const snapshot = await takeSnapshot({ client, wid: 1 });
    const counted = [
      { itemID: "A*", spot: "<b>", counted: 7 },
      { itemID: "B", counted: 7 },
    ];
    const plan: CountPlan = await planCount({
      client,
      snapshot,
      counted,
      reasonCodes: { surplus: 1, shortage: 2 },
      newGroups: true,
    });
    const markdown = planMarkdown(plan);
    const texts = textsOf(markdown);
    for (const value of ["A*", "<b>", "x|y", "`", "B"]) expect(texts).toContain(value);
    expect(markdown).toContain("cannot be seen");
    expect(markdown).toContain("### blocked `B`");
  });

  it("is at most 1 MiB long, and says what it leaves out", async () => {
    const { client } = world([]);
    const desired = Array.from({ length: 3_000 }, (_, index) => ({
      shortID: `N${index}`,
      description: "é`\n".repeat(200),
    }));
    const markdown = planMarkdown(await planItems({ client, desired }));
    expect(Buffer.byteLength(markdown)).toBeLessThanOrEqual(1_048_576);
    expect(Buffer.byteLength(markdown)).toBeGreaterThan(1_000_000);
    const [, more = ""] = /… and (\d+) more$/.exec(markdown) ?? [];
    expect((markdown.match(/^### create/gm) ?? []).length + Number(more)).toBe(3_000);
  });
});
