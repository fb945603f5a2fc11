/** Generates the client of `@hey-api/openapi-ts` from openapi.json, validated by its zod plugin. */
import { fileURLToPath } from "node:url";
import { createClient } from "@hey-api/openapi-ts";

/** @param {URL} output */
export async function generateClient(output) {
  await createClient({
    input: fileURLToPath(new URL("./openapi.json", import.meta.url)),
    output: fileURLToPath(output),
    plugins: ["@hey-api/client-fetch", "zod", { name: "@hey-api/sdk", validator: true }],
    logs: { level: "silent" },
  });
}
