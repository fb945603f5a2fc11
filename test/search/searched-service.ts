import { newItem } from "../support/records.js";
import { type ServiceBehaviour, SmallService } from "../support/small-service.js";

/** A service whose lists show these part numbers. Each SKU `SKU-n` exists and has the part number n, also if no list shows it. */
export class SearchedService extends SmallService {
  constructor(partNos: readonly number[], behaviour: ServiceBehaviour = {}) {
    super(behaviour);
    this.lots = partNos.map((partNo, index) => ({ recNo: index + 1, partNo }));
    this.lastRecNo = partNos.length;
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
