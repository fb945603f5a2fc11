import { describeKeyProblem } from "../../service/key.js";
import type { Operation } from "../../service/operations.js";
import { InputValidationError } from "../../shared/errors/index.js";

/** The path of an operation. A parameter is encoded as one segment, and rejected if a URL parser would drop it. */
export function pathOf({ path }: Operation, parameter: string | number = ""): string {
  return path.replace(/\{\w+\}/, () => {
    const message = describeKeyProblem(String(parameter));
    if (message) throw new InputValidationError("path", [{ path: [], message }]);
    return encodeURIComponent(parameter);
  });
}

export const requestOf = (operation: Operation, parameter?: string | number) => ({
  method: operation.method,
  path: pathOf(operation, parameter),
});

/** The problem of a path that the caller has encoded, or `undefined`. */
export function describePathProblem(given: unknown): string | undefined {
  if (typeof given !== "string" || !given.startsWith("/")) return 'must start with "/"';
  if (!/^([!$&'()*+,\-./\w:;=@~]|%[\da-f]{2})*$/i.test(given)) return "must be encoded, without a query or a fragment";
  // A proxy may decode an encoded slash before it resolves dot segments.
  const decoded = given.replace(/%(2f|5c)/gi, "/").replace(/%2e/gi, ".");
  return /\/\.{1,2}(\/|$)/.test(decoded) ? "must not have dot segments" : undefined;
}
