/** Writes openapi.json: `npm run openapi`. */
import { writeFileSync } from "node:fs";
import { OPENAPI_FILE, openApiText } from "./text.js";

writeFileSync(OPENAPI_FILE, openApiText());
