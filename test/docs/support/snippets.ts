import { blocksOf, type CodeBlock, guides } from "./markdown.js";

/** A block of TypeScript that people copy. */
export interface Snippet extends CodeBlock {
  /** A unique path for the compiler. */
  readonly name: string;
  /** Variables that it uses without creating them. */
  readonly given: Given[];
}

/** Variables that a snippet may use without creating them. */
export type Given = "client" | "sandbox";

const GIVEN: readonly Given[] = ["client", "sandbox"];

/** Its programs have tests of their own. */
export const RECIPES = "docs/recipes.md";

/** Every snippet of README and guides. */
export const snippets = (): Snippet[] =>
  guides().flatMap((page) =>
    blocksOf(page, "ts").map((block) => ({
      ...block,
      name: `${block.page} line ${block.line}.ts`,
      given: givenTo(block.code),
    })),
  );

/** What code uses without having created it. */
export const givenTo = (code: string): Given[] => GIVEN.filter((name) => uses(code, name) && !makes(code, name));

const uses = (code: string, name: string) => new RegExp(`\\b${name}\\b`).test(code);
const makes = (code: string, name: string) => new RegExp(`\\b(const|let) ${name}\\b`).test(code);
