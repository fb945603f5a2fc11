import { fieldOf } from "../../shared/unknown.js";

/** Binds the methods of a class to one of its objects, so that `const { receive } = client.inventory` works. */
export function bindMethods(object: object, { prototype }: { readonly prototype: object }): void {
  for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(prototype))) {
    if (name === "constructor" || typeof value !== "function") continue;
    // A subclass may override the method.
    const method = fieldOf(object, name);
    if (typeof method !== "function") continue;
    Object.defineProperty(object, name, { value: method.bind(object), writable: true, configurable: true });
  }
}
