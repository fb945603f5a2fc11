/** The door for other rooms: they import this and `index`, and nothing else of this room. */
export { type CopiedStock, changesInCopy, itemsInCopy, stockInCopy } from "./answers.js";
export { readStatus } from "./copy/status.js";
export type { MirrorCopy } from "./open-copy.js";
export { listName, mirrorListsOf, RESOURCES } from "./tables.js";
