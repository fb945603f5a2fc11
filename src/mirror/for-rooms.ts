/** The door for other rooms: they import this file and `index`, and no other file of this room. */
export { readStatus } from "./copy/status.js";
export { listName, mirrorListsOf, RESOURCES } from "./tables.js";
