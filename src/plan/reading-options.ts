import type { PagingProgress } from "../paging/page.js";
import { abortSignalSchema, functionSchemaOf, inventoryClientSchema, requiredOption } from "../schemas/option.js";

/** The options that everything has that reads the service before a plan. */
export const readingOptions = () => ({
  client: requiredOption(inventoryClientSchema()),
  signal: abortSignalSchema().optional(),
  onProgress: functionSchemaOf<(progress: PagingProgress) => void>().optional(),
});
