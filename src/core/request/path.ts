import { InputValidationError } from "../../errors/index.js";
import { describeKeyProblem } from "../../schemas/key.js";

/**
 * Builds a path from a template and its parameters. Each parameter is encoded as one segment, and rejected if a URL parser
 * would drop it.
 */
export function encodedPath(segments: TemplateStringsArray, ...parameters: (string | number)[]): string {
  return String.raw(
    { raw: segments },
    ...parameters.map((parameter) => {
      const message = describeKeyProblem(String(parameter));
      if (message) throw new InputValidationError("path", [{ path: [], message }]);
      return encodeURIComponent(parameter);
    }),
  );
}

/** The problem of a path that the caller has encoded, or `undefined`. */
export function describePathProblem(given: unknown): string | undefined {
  if (typeof given !== "string" || !given.startsWith("/")) return 'must start with "/"';
  if (!/^([!$&'()*+,\-./\w:;=@~]|%[\da-f]{2})*$/i.test(given)) return "must be encoded, without a query or a fragment";
  // A proxy may decode an encoded slash before it resolves dot segments.
  const decoded = given.replace(/%(2f|5c)/gi, "/").replace(/%2e/gi, ".");
  return /\/\.{1,2}(\/|$)/.test(decoded) ? "must not have dot segments" : undefined;
}
