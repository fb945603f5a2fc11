import { PATHS } from "../service/operations.js";

const URL_TEMPLATE_PATTERNS = PATHS.map((template) => ({
  template,
  pattern: new RegExp(`^${template.replace(/\{\w+\}/, "[^/]+")}$`),
}));

/**
 * The path of an endpoint without the values in it, so that all calls of it have one name: `/Inventory/{wid}` for
 * `/Inventory/3`. `undefined` for undocumented endpoints; add those that you call.
 */
export function findUrlTemplate(path: string): string | undefined {
  return URL_TEMPLATE_PATTERNS.find(({ pattern }) => pattern.test(path))?.template;
}
