export interface HttpPeer {
  getItem(shortID: string): Promise<unknown>;
  getPage(page: number): Promise<{ value: unknown[]; hasMore: boolean }>;
}

export interface Target {
  baseUrl: string;
  token: string;
  generatedClient: URL;
}

export const httpPeers: Record<string, (target: Target) => Promise<HttpPeer>>;
