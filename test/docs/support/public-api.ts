import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "./markdown.js";

/** The interfaces and classes of an entry point, with the names of their members, from the report of the public API. */
export function membersByType(entryPoint: string, kinds: "interface" | "interface|class"): Map<string, string[]> {
  const report = readFileSync(join(ROOT, "tools/api", `${entryPoint.replace("/", "-")}.txt`), "utf8");
  const types = report.matchAll(new RegExp(`^(?:${kinds}) (\\w+)[^\\n]*\\{\\n([\\s\\S]*?)^\\}`, "gm"));
  return new Map(
    [...types].map(([, type = "", members = ""]) => [
      type,
      [...members.matchAll(/^ {2}(\w+)\??:/gm)].map(([, member = ""]) => member),
    ]),
  );
}
