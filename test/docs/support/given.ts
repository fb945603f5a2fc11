/** Variables that an example of a doc comment may use without creating them. */
export type Given = "client" | "sandbox";

const GIVEN: readonly Given[] = ["client", "sandbox"];

/** Returns the variables that code uses without creating them. */
export const givenTo = (code: string): Given[] => GIVEN.filter((name) => uses(code, name) && !makes(code, name));

const uses = (code: string, name: string) => new RegExp(`\\b${name}\\b`).test(code);
const makes = (code: string, name: string) => new RegExp(`\\b(const|let) ${name}\\b`).test(code);
