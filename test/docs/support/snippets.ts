import { blocksOf, type CodeBlock, guides } from "./markdown.js";

/** A block of TypeScript that people copy. */
export interface Snippet extends CodeBlock {
  /** A unique path for the compiler. */
  readonly name: string;
}

/** Every snippet of README and guides. */
export const snippets = (): Snippet[] =>
  guides().flatMap((page) =>
    blocksOf(page, "ts").map((block) => ({
      ...block,
      name: `${block.page} line ${block.line}.ts`,
    })),
  );
