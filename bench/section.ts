/** Measures one section in this process and sends the result to its parent. */
import { SECTIONS } from "./sections/index.js";

const [name = "", quick] = process.argv.slice(2);
const load = SECTIONS[name];
if (!load) throw new Error(`no section ${name}`);
const measure = await load();
process.send?.(await measure(quick === "quick"));
process.disconnect?.();
