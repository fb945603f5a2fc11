import type { Cost, Task } from "../contender.js";
import { type MeasurementSize, measureInterleaved } from "../contenders.js";
import { FLOOR, HTTP_CLIENTS, OWN } from "../http-clients.js";
import { medianOf, spreadOf } from "../measure.js";
import type { BarChart, Section, Spread } from "../results.js";
import { Services } from "../services.js";

interface Figures {
  name: string;
  wall: Spread;
  cpu: Spread;
  micros: number;
}

/** Clients that do less than stocklot; most of them are built on global fetch. */
const OTHERS = ["got", "ky", "axios", "openapi-fetch", "hey-api + zod"];

const NOTE =
  "Sequential calls on loopback; client and service each in a separate process; the clients take turns. Multiples of undici.request + JSON.parse in the same round: median, quartiles.";

export async function overhead(quick: boolean): Promise<Section> {
  const measurementSize = quick
    ? { rounds: 11, calls: 150, warmUp: 1_500 }
    : { rounds: 21, calls: 1_500, warmUp: 8_000 };
  const { figures, own } = await compare("item", measurementSize);
  const others = figures.filter(({ name }) => OTHERS.includes(name));
  const nearest = (kind: keyof Cost) => Math.min(...others.map((figure) => figure[kind].median)) / own[kind].median;
  return {
    ...inSection(figures, "How long does one call take?"),
    title: "Overhead of one call",
    note: `items.get with everything on: limiter, token, retry, validation, gzip requested. ${NOTE}`,
    checks: [
      { what: "one call, × the floor (wall)", value: own.wall.median, atMost: 1.15 },
      { what: "one call, × the floor (CPU)", value: own.cpu.median, atMost: 1.15 },
      { what: `the nearest of ${OTHERS.join(", ")}, × stocklot (wall)`, value: nearest("wall"), atLeast: 2 },
      { what: "the same (CPU)", value: nearest("cpu"), atLeast: 2 },
    ],
  };
}

export async function page(quick: boolean): Promise<Section> {
  const measurementSize = quick ? { rounds: 5, calls: 60, warmUp: 300 } : { rounds: 15, calls: 400, warmUp: 1_500 };
  const { figures, own } = await compare("page", measurementSize);
  return {
    ...inSection(figures, "How long does a page of 250 lots take?"),
    title: "A page of 250 lots",
    note: `inventory.listLots({ page }).page(), validated; of the others only hey-api's client validates. ${NOTE}`,
    checks: [{ what: "a page of 250 lots, × the floor (wall)", value: own.wall.median, atMost: 1.2 }],
  };
}

/** Measures the time of each client for a task, as multiples of the floor. */
async function compare(task: Task, measurementSize: MeasurementSize): Promise<{ figures: Figures[]; own: Figures }> {
  const services = new Services();
  const { baseUrl } = await services.open({ lots: 250_000 });
  const costs = await measureInterleaved(HTTP_CLIENTS, baseUrl, task, measurementSize);
  services.close();
  const floor = costs.get(FLOOR) ?? [];
  const figures = [...costs].map(([name, taken]) => ({
    name,
    wall: ratios(taken, floor, "wall"),
    cpu: ratios(taken, floor, "cpu"),
    micros: medianOf(taken.map(({ wall }) => wall)),
  }));
  const own = figures.find(({ name }) => name === OWN);
  if (!own) throw new Error("stocklot was not measured");
  return { figures, own };
}

/** Returns each round's value as a multiple of the floor's value in the same round. */
function ratios(costs: readonly Cost[], floor: readonly Cost[], kind: keyof Cost): Spread {
  return spreadOf(costs.map((cost, round) => cost[kind] / (floor[round]?.[kind] ?? Number.NaN)));
}

function inSection(figures: readonly Figures[], title: string): Pick<Section, "columns" | "rows" | "chart"> {
  const chart: BarChart = {
    kind: "bars",
    title,
    unit: "wall time, × undici.request + JSON.parse; shorter is better",
    bars: figures.map(({ name, wall }) => ({ name, value: wall.median, spread: wall, own: name === OWN })),
  };
  return {
    columns: ["client", "wall", "CPU", "per call"],
    rows: figures.map(({ name, wall, cpu, micros }) => [
      name,
      { value: wall, digits: 2, unit: "×" },
      { value: cpu, digits: 2, unit: "×" },
      { value: micros, digits: 0, unit: "µs" },
    ]),
    chart,
  };
}
