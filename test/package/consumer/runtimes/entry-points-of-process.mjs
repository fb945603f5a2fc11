import { useEntryPoints } from "./entry-points.mjs";

console.log(JSON.stringify(await useEntryPoints(JSON.parse(process.argv.at(-1)))));
// On Deno, msw keeps the process alive once it was imported.
process.exit();
