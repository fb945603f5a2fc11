import { planText } from "../text.js";
import type { BlockedGroup, CountChange, CountPlanContent } from "./document.js";
import { type BookLot, describeGroup } from "./group.js";

export function countPlanText(content: CountPlanContent, limit: number): string {
  const { wid, plannedAt, noticesReturns, counts, changes, blocked } = content;
  const lines = counts.notCounted === 1 ? "line" : "lines";
  const notCounted = `Not counted, and left as they are: ${counts.notCounted} ${lines} of the snapshot.`;
  return planText({
    limit,
    counts: [
      ["+", counts.receive, "receive"],
      ["-", counts.issue, "issue"],
      ["=", counts.unchanged, "unchanged"],
      ["!", counts.blocked, "blocked"],
    ],
    about: `  (warehouse ${wid}, ${plannedAt})`,
    changes,
    linesOfChange: linesOfCountChange,
    blocked,
    linesOfBlocked,
    beforeReason: ": ",
    notes: [
      counts.notCounted === 0 ? "" : notCounted,
      noticesReturns ? "" : NO_RETURNS,
      unseenText(counts.missingRecNos),
    ],
  });
}

const NO_RETURNS =
  "The service does not honour modifiedSince for lots, or the snapshot could not prove that it does. Lots that were moved away and back while people counted were not noticed.";

/** Describes lots that the service no longer lists. Only their number is known. */
function unseenText(missing: number | null): string {
  const unseen =
    "Goods that came and were used up, or left this client's warehouses, since the snapshot cannot be seen";
  if (missing === null) return `${unseen}.`;
  const numbers = missing === 1 ? "1 record number" : `${missing} record numbers`;
  return `${unseen}: ${numbers} since then ${missing === 1 ? "is" : "are"} missing from the list.`;
}

function linesOfCountChange({ operation, uOM, book, counted, units, lots, writes, ...group }: CountChange): string[] {
  const sign = operation === "receive" ? "+" : "-";
  const [first] = writes;
  const empty = lots.length === 0 ? ", where the item has no lot" : "";
  const bin =
    first && "recno" in first ? "" : ` into ${first?.spot ? `bin ${first.spot}` : "the bin without a name"}${empty}`;
  const issued = new Map(writes.map((write) => ["recno" in write ? write.recno : undefined, write.units]));
  return [
    `${sign} ${describeGroup(group)}  book ${book}, counted ${counted} ${uOM}: ${operation} ${units}${bin}`,
    ...lots.map((lot) => `${lineOfLot(lot)}${issued.has(lot.recNo) ? `, issue ${issued.get(lot.recNo)}` : ""}`),
  ];
}

const linesOfBlocked = ({ book, counted, lots, reason: _, ...group }: BlockedGroup): string[] => [
  `${describeGroup(group)}  book ${book}, counted ${counted}`,
  ...lots.map(lineOfLot),
];

const lineOfLot = ({ recNo, received, spot, serial, units }: BookLot): string =>
  `    lot ${recNo}, received ${received.slice(0, 10)}${spot && `, bin ${spot}`}${serial && `, serial ${serial}`}: ${units}`;
