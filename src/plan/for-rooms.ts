/** The door for other rooms: they import this and `index`, and nothing else of this room. */
export { checkOf } from "./count/check.js";
export { type CountGroup, describeGroup, sumOf } from "./count/group.js";
export { planCountOfSheets } from "./count/plan-count.js";
export { areCut, Notations } from "./notation.js";
export { countListedItems, readItems } from "./read-items.js";
