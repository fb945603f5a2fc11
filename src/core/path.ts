import { InputValidationError, type Issue } from "../errors/index.js";

/** A key that a URL would lose or take for a way up. */
const LOST_IN_A_URL = new Set(["", ".", ".."]);

/** Tells what is wrong with a key that goes into a path or query, or `undefined`. */
export function keyProblem(key: string): string | undefined {
  if (LOST_IN_A_URL.has(key)) return `"${key}" cannot be used as a key`;
  if (!key.isWellFormed()) return "must be well-formed Unicode";
  return undefined;
}

/**
 * Makes a path of a template and its parameters. Each parameter is one segment, whatever it holds: it is encoded, and
 * refused where a URL would lose it.
 */
export function path(segments: TemplateStringsArray, ...parameters: (string | number)[]): string {
  return String.raw(
    { raw: segments },
    ...parameters.map((parameter) => {
      const problem = keyProblem(String(parameter));
      if (problem) throw new InputValidationError("path", [{ path: [], message: problem }]);
      return encodeURIComponent(parameter);
    }),
  );
}

/** Tells what is wrong with a path that the caller has encoded. */
export function pathIssues(given: unknown): Issue[] {
  const problem =
    typeof given !== "string" || !given.startsWith("/")
      ? 'must start with "/"'
      : !/^[!$%&'()*+,\-./\w:;=@~]*$/.test(given)
        ? "must be encoded, without a query or a fragment"
        : given.split("/").some((segment) => /^(\.|%2e){1,2}$/i.test(segment))
          ? "must not have dot segments"
          : undefined;
  return problem ? [{ path: ["path"], message: problem }] : [];
}
