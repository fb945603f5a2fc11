import { openApiDocument } from "./document.js";

/** The file that the package ships as `stocklot/openapi.json`. */
export const OPENAPI_FILE = new URL("../../openapi.json", import.meta.url);

/** Returns the expected content of the file. */
export const openApiText = (): string => `${JSON.stringify(openApiDocument(), null, 2)}\n`;
