/** The order of the pages of the site. Paths are those of the repository. */

/** Pages under one heading of the sidebar. */
export interface PageGroup {
  readonly title: string;
  readonly pages: readonly string[];
}

/** The front page. */
export const FRONT_PAGE = "README.md";

/** The guides, in reading order. */
export const GUIDE_GROUPS: readonly PageGroup[] = [
  { title: "Start", pages: [FRONT_PAGE, "docs/start.md", "docs/README.md", "docs/command.md", "docs/recipes.md"] },
  { title: "Read", pages: ["docs/lists.md", "docs/mirror.md"] },
  { title: "Write", pages: ["docs/writes.md", "docs/outbox.md", "docs/plan.md", "docs/count.md"] },
  { title: "Test and operate", pages: ["docs/testing.md", "docs/operating.md", "docs/lost.md", "docs/agents.md"] },
  { title: "Look up", pages: ["docs/reference.md", "examples/README.md"] },
];

export const GUIDES: readonly string[] = GUIDE_GROUPS.flatMap(({ pages }) => pages);

/** Pages about the project itself. */
export const PROJECT_GROUPS: readonly PageGroup[] = [
  {
    title: "Project",
    pages: [
      "CHANGELOG.md",
      "bench/README.md",
      ".github/CONTRIBUTING.md",
      ".github/ADDING.md",
      "docs/releasing.md",
      ".github/SECURITY.md",
      ".github/CODE_OF_CONDUCT.md",
    ],
  },
];

/** The entry points in the API reference, in reading order. */
export const ENTRY_POINTS = [
  "stocklot",
  "stocklot/outbox",
  "stocklot/mirror",
  "stocklot/plan",
  "stocklot/sandbox",
  "stocklot/msw",
  "stocklot/redis",
  "stocklot/bottleneck",
  "stocklot/opentelemetry",
] as const;
