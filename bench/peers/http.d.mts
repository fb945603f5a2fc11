export interface HttpPeer {
  name: string;
  getItem(shortID: string): Promise<unknown>;
  getPage(page: number): Promise<{ value: unknown[]; hasMore: boolean }>;
}

export function openFloor(baseUrl: string, token: string): HttpPeer;
export function openHttpPeers(baseUrl: string, token: string, generatedClient: URL): Promise<HttpPeer[]>;
