import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { Task } from "../contender.js";
import { FLOOR, OWN } from "../http-clients.js";
import type { TimeByPlace } from "../profiled.js";
import type { Cell, Section } from "../results.js";
import { Services } from "../services.js";

const CALLS = { item: 30_000, page: 3_000 };
/** The least share of a call for a place with its own row. Places with a smaller share of both calls are combined. */
const LEAST_SHARE = 0.01;

/** Profiles calls of stocklot and of the floor. The difference is what stocklot adds. */
export async function profile(quick: boolean): Promise<Section> {
  const services = new Services();
  const { baseUrl } = await services.open({ lots: 250_000 });
  const profiled = async (name: string, task: Task) => {
    const child = fork(fileURLToPath(new URL("../profiled.ts", import.meta.url)), [
      name,
      baseUrl,
      task,
      String(quick ? CALLS[task] / 10 : CALLS[task]),
    ]);
    const failed = once(child, "exit").then(([code]) => Promise.reject(new Error(`profile of ${name}: code ${code}`)));
    const [places] = (await Promise.race([once(child, "message"), failed])) as [TimeByPlace];
    failed.catch(() => {});
    return places;
  };
  const columns = [
    await profiled(OWN, "item"),
    await profiled(FLOOR, "item"),
    await profiled(OWN, "page"),
    await profiled(FLOOR, "page"),
  ];
  services.close();
  const shown = placesIn(columns);
  const rest = columns.map((places) => sum(places) - shown.reduce((micros, place) => micros + (places[place] ?? 0), 0));
  return {
    title: "Where the time goes",
    note: `µs of the main thread for one call, sampled every 0.2 ms; the service is in another process. The floor is ${FLOOR} + JSON.parse.`,
    columns: ["in", "items.get", "its floor", "a page of 250 lots", "its floor"],
    rows: [
      ...shown.map((place) => [place, ...columns.map((places) => cellOf(places[place] ?? 0))]),
      ["the rest", ...rest.map(cellOf)],
      ["together", ...columns.map((places) => cellOf(sum(places)))],
    ],
    checks: [],
  };
}

/** Returns the places that have their own row, the most expensive first. */
function placesIn([item = {}, , page = {}]: readonly TimeByPlace[]): string[] {
  const share = (places: TimeByPlace, place: string) => (places[place] ?? 0) / sum(places);
  const most = (place: string) => Math.max(share(item, place), share(page, place));
  return [...new Set([...Object.keys(item), ...Object.keys(page)])]
    .filter((place) => most(place) >= LEAST_SHARE)
    .sort((one, other) => (item[other] ?? 0) - (item[one] ?? 0));
}

const sum = (places: TimeByPlace) => Object.values(places).reduce((total, micros) => total + micros, 0);

const cellOf = (micros: number): Cell => ({ value: micros, digits: micros < 100 ? 1 : 0 });
