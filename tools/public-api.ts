/**
 * Writes the public API of each entry point into a text file in `tools/api/`: its exports, with types and without comments. A
 * test compares the files with the source, so that every change of the public API is visible in a diff.
 *
 * npm run api
 */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import ts from "typescript";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const FLAGS =
  ts.TypeFormatFlags.NoTruncation |
  ts.TypeFormatFlags.WriteArrayAsGenericType |
  ts.TypeFormatFlags.UseStructuralFallback |
  ts.TypeFormatFlags.UseAliasDefinedOutsideCurrentScope;

/** Returns the source files of the entry points, by the name of the entry point, such as `stocklot/plan`. */
export function entryPoints(): Map<string, string> {
  const { exports } = JSON.parse(readFileSync(`${ROOT}package.json`, "utf8"));
  const names = Object.keys(exports).filter((name) => !name.endsWith(".json"));
  return new Map(
    names.map((name) => {
      const folder = name.slice(2);
      return [folder === "" ? "stocklot" : `stocklot/${folder}`, `${ROOT}src/${folder && `${folder}/`}index.ts`];
    }),
  );
}

/** Creates a program that contains only the entry points. */
function createProgram(): ts.Program {
  const { config } = ts.readConfigFile(`${ROOT}tsconfig.json`, ts.sys.readFile);
  const { options } = ts.parseJsonConfigFileContent({ ...config, include: [], files: [] }, ts.sys, ROOT);
  return ts.createProgram([...entryPoints().values()], options);
}

/** Returns the text of each file in `tools/api/`, by its name. */
export function publicApi(program = createProgram()): Map<string, string> {
  const entries = entryPoints();
  const checker = program.getTypeChecker();
  return new Map(
    [...entries].map(([name, file]) => {
      const source = program.getSourceFile(file);
      const module = source && checker.getSymbolAtLocation(source);
      if (!module) throw new Error(`${file} exports nothing`);
      const exported = checker.getExportsOfModule(module).sort((a, b) => (a.name < b.name ? -1 : 1));
      const texts = exported.map((symbol) => inFixedOrder(describeExport(checker, symbol)));
      return [`${name.replace("/", "-")}.txt`, `${name}\n\n${texts.join("\n\n")}\n`];
    }),
  );
}

/** Sorts the members of unions. The compiler lists them in the order in which it has read them, which unrelated code changes. */
const inFixedOrder = (text: string): string =>
  text.replace(/"[^"]*"(?: \| "[^"]*")+/g, (union) => union.split(" | ").sort().join(" | "));

function describeExport(checker: ts.TypeChecker, exported: ts.Symbol): string {
  const symbol = exported.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(exported) : exported;
  const { name } = exported;
  const text = (type: ts.Type, flags = 0) => checker.typeToString(type, undefined, FLAGS | flags);
  const members = (type: ts.Type) => membersOf(checker, type).map((member) => `  ${member}`);
  const parts: string[] = [];
  if (symbol.flags & (ts.SymbolFlags.Class | ts.SymbolFlags.Interface)) {
    const kind = symbol.flags & ts.SymbolFlags.Class ? "class" : "interface";
    parts.push(
      [`${kind} ${headOf(symbol, name)} {`, ...members(checker.getDeclaredTypeOfSymbol(symbol)), "}"].join("\n"),
    );
  } else if (symbol.flags & ts.SymbolFlags.TypeAlias) {
    parts.push(
      `type ${headOf(symbol, name)} = ${text(checker.getDeclaredTypeOfSymbol(symbol), ts.TypeFormatFlags.InTypeAlias)}`,
    );
  }
  if (symbol.flags & ts.SymbolFlags.Value) {
    const type = checker.getTypeOfSymbol(symbol);
    if (symbol.flags & ts.SymbolFlags.Class) {
      const constructors = checker
        .getSignaturesOfType(type, ts.SignatureKind.Construct)
        .filter((signature) => !signature.getJsDocTags().some((tag) => tag.name === "internal"))
        .map((signature) => `new ${name}${checker.signatureToString(signature, undefined, FLAGS)}`);
      const statics = membersOf(checker, type).filter((member) => !member.startsWith("prototype"));
      parts.push(...constructors, ...statics.map((member) => `${name}.${member}`));
    } else parts.push(`${symbol.flags & ts.SymbolFlags.Function ? "function" : "const"} ${name}: ${text(type)}`);
  }
  return parts.join("\n");
}

/** Returns the name with type parameters and base types, as declared. */
function headOf(symbol: ts.Symbol, name: string): string {
  const [declaration] = symbol.declarations ?? [];
  if (!declaration) return name;
  const parameters = "typeParameters" in declaration ? (declaration as ts.ClassDeclaration).typeParameters : undefined;
  const bases = "heritageClauses" in declaration ? (declaration as ts.ClassDeclaration).heritageClauses : undefined;
  const generic = parameters ? `<${parameters.map((parameter) => parameter.getText()).join(", ")}>` : "";
  return [name + generic, ...(bases ?? []).map((base) => base.getText())].join(" ");
}

/** Returns the members, also those inherited from types of this package, but no private and internal members. */
function membersOf(checker: ts.TypeChecker, type: ts.Type): string[] {
  const members = checker.getPropertiesOfType(type).filter((member) => {
    const [declaration] = member.declarations ?? [];
    const isOurs = declaration?.getSourceFile().fileName.startsWith(`${ROOT}src/`);
    const name = declaration && ts.getNameOfDeclaration(declaration);
    const isInternal = member.getJsDocTags(checker).some((tag) => tag.name === "internal");
    return isOurs && !isInternal && !(name && ts.isPrivateIdentifier(name));
  });
  return members
    .map((member) => {
      const isOptional = (member.flags & ts.SymbolFlags.Optional) !== 0;
      const name = member.name.replace(/^__@(\w+)@\d+$/, "[Symbol.$1]");
      return `${name}${isOptional ? "?" : ""}: ${checker.typeToString(checker.getTypeOfSymbol(member), undefined, FLAGS)}`;
    })
    .sort();
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  mkdirSync(`${ROOT}api`, { recursive: true });
  for (const [name, text] of publicApi()) writeFileSync(`${ROOT}tools/api/${name}`, text);
}
