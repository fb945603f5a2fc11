/** The paths of the service's document, those without a parameter first, as in `openapi.json`. */
const URL_TEMPLATES = [
  "/Token",
  "/Item",
  "/Item/All",
  "/Inventory",
  "/Inventory/StockLevels",
  "/Inventory/Receive",
  "/Inventory/Move",
  "/Inventory/Issue",
  "/Item/{item}",
  "/Inventory/{wid}",
  "/Inventory/StockLevels/{wid}",
];

const URL_TEMPLATE_PATTERNS = URL_TEMPLATES.map((template) => ({
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
