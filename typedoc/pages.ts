/** A TypeDoc plugin: the documents of the repository become pages of the site, with the same titles. */
import { readdirSync, readFileSync } from "node:fs";
import { basename, dirname, join, relative, sep } from "node:path";
import { type Application, Converter, DocumentReflection, normalizePath, ReflectionKind, RendererEvent } from "typedoc";

/** Groups of the sidebar, by the path of the document. */
const GROUPS: [path: RegExp, group: string][] = [
  [/^docs\/decisions\//, "Decisions"],
  [/^docs\/(?!releasing)/, "Guides"],
  [/^examples\//, "Examples"],
  [/^/, "Project"],
];

export function load(application: Application): void {
  application.converter.on(Converter.EVENT_CREATE_DOCUMENT, (_context, document) => {
    const path = document.project.files.getReflectionPath(document);
    if (path === undefined) throw new Error(`${document.name} has no file`);
    nameAfterPath(document, path);
    if (basename(path) !== "README.md") return;
    for (const program of programsIn(dirname(path))) addProgram(document, dirname(path), program);
  });
  // The addresses have already been derived from the names.
  application.renderer.on(RendererEvent.BEGIN, ({ project }) => {
    for (const document of project.getReflectionsByKind(ReflectionKind.Document)) nameAfterHeading(document);
  });
}

function nameAfterPath(document: DocumentReflection, path: string): void {
  const inRepository = relative(process.cwd(), path).split(sep).join("/");
  document.name = inRepository.replace(/^docs\/|(\/README)?\.md$/g, "").replaceAll("/", "-");
  document.frontmatter.group = GROUPS.find(([pattern]) => pattern.test(inRepository))?.[1];
}

function nameAfterHeading(document: unknown): void {
  if (!(document instanceof DocumentReflection)) return;
  const [, heading] = /^\s*# (.+)\n/.exec(document.content[0]?.text ?? "") ?? [];
  document.name = heading ?? document.name;
}

const programsIn = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts") && !name.includes("node_modules"))
    .sort();

/** A page that shows a program. */
function addProgram({ project }: DocumentReflection, folder: string, name: string): void {
  const path = normalizePath(join(folder, name));
  const text = `# ${name}\n\n\`\`\`ts\n${readFileSync(path, "utf8")}\`\`\`\n`;
  const page = new DocumentReflection("", project, [{ kind: "text", text }], {});
  nameAfterPath(page, path);
  project.addChild(page);
  project.registerReflection(page, undefined, path);
}
