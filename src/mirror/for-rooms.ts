/** The door for other rooms: they import this and `index`, and nothing else of this room. */
export { readStatus } from "./copy/status.js";
export { listName, mirrorListsOf, RESOURCES } from "./tables.js";
