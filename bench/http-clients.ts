import { GENERATED_CLIENT } from "./paths.js";
import { type HttpPeer, httpPeers } from "./peers/http.mjs";
import { openClient } from "./stocklot.js";

export const OWN = "stocklot";
export const FLOOR = "undici.request";

export const HTTP_CLIENTS = [FLOOR, OWN, ...Object.keys(httpPeers).filter((name) => name !== FLOOR)];

/** Opens one of the compared clients. The process loads no other client. */
export async function openHttpClient(name: string, baseUrl: string): Promise<HttpPeer> {
  if (name === OWN) {
    const client = await openClient(baseUrl);
    return {
      getItem: (shortID) => client.items.get(shortID),
      getPage: (page) => client.inventory.listLots({ page }).page(),
    };
  }
  const open = httpPeers[name];
  if (!open) throw new Error(`no client ${name}`);
  return open({ baseUrl, token: "bench-token", generatedClient: GENERATED_CLIENT });
}
