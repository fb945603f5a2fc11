import { InputValidationError, type Issue } from "../errors/index.js";
import { keyProblem } from "../schemas/key.js";

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
