import { runMainPath } from "./main-path.mjs";

runMainPath(JSON.parse(process.argv.at(-1))).then((result) => console.log(JSON.stringify(result)));
