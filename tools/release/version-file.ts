/** The content of `src/shared/version.ts`. */
export const versionFile = (version: string): string =>
  `/** The version of this package, as package.json has it. */\nexport const VERSION = "${version}";\n`;
