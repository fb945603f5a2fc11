import { InventoryClient } from "stocklot";
import { newItem } from "../support/records.js";
import { type ServiceBehaviour, SmallService } from "../support/small-service.js";

/** A service whose lists show these part numbers. Item `SKU-n` has the part number n, whether it is in the lists or not. */
export class SearchedService extends SmallService {
  /** All but token requests. */
  readonly requests: URL[] = [];

  constructor(partNos: readonly number[], behaviour: ServiceBehaviour = {}) {
    super(behaviour);
    this.lots = partNos.map((partNo, index) => ({ recNo: index + 1, partNo }));
    this.lastRecNo = partNos.length;
  }

  readonly fetch = async (input: Request | URL | string, init?: RequestInit): Promise<Response> => {
    const request = new Request(input, init);
    const url = new URL(request.url);
    const path = url.pathname.replace(/^\/api\/v1/, "");
    if (path !== "/Token") this.requests.push(url);
    const { status, body } = this.respond({
      method: request.method,
      path,
      query: url.searchParams,
      authorization: request.headers.get("authorization") ?? undefined,
      body: await request.text(),
    });
    return Response.json(body, { status, headers: { date: new Date().toUTCString() } });
  };

  client(options: ConstructorParameters<typeof InventoryClient>[0] = {}): InventoryClient {
    return new InventoryClient({
      baseUrl: "https://service.test/api/v1",
      clientId: "id",
      clientSecret: "the-secret",
      fetch: this.fetch,
      rateLimit: false,
      ...options,
    });
  }

  protected override findItem(key: string) {
    const partNo = /^SKU-(\d+)$/.exec(key)?.[1];
    return partNo === undefined ? super.findItem(key) : { ...newItem({ partNo: Number(partNo), shortID: key }) };
  }

  /** The items that have records. */
  protected override allItems() {
    const partNos = new Set(this.lots.map(({ partNo }) => partNo));
    return [...partNos].map((partNo) => ({ ...newItem({ partNo, shortID: `SKU-${partNo}` }) }));
  }
}
