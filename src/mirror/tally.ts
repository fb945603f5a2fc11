import type { PagingProgress } from "../paging/page.js";

/** What reading one resource took. */
export class Tally {
  requests = 0;
  pages = 0;
  records = 0;
  duplicates = 0;
  gapsRepaired = 0;

  /** Counts a page; the progress of a reading tells its sums, so what the last one told is taken off. */
  page(now: PagingProgress, last: PagingProgress | undefined): void {
    this.pages += 1;
    this.records += now.received - (last?.received ?? 0);
    this.duplicates += now.duplicates - (last?.duplicates ?? 0);
    this.gapsRepaired += now.gapsRepaired - (last?.gapsRepaired ?? 0);
  }
}
