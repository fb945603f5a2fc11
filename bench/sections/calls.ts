import type { Contender } from "../measure.js";
import { interleave, ratios } from "../measure.js";
import { GENERATED_CLIENT } from "../paths.js";
import { type HttpPeer, openFloor, openHttpPeers } from "../peers/http.mjs";
import type { Section, Spread } from "../results.js";
import { Services } from "../services.js";
import { openClient } from "../stocklot.js";

const OWN = "stocklot";

interface Figures {
  name: string;
  wall: Spread;
  cpu: Spread;
  micros: number;
}

/** How much to measure: bursts of calls, in turns. */
interface Effort {
  rounds: number;
  calls: number;
  warmUp: number;
}

/** Sequential calls of each client, as multiples of the floor. */
async function compare(call: (peer: HttpPeer) => () => Promise<unknown>, effort: Effort) {
  const services = new Services();
  const { baseUrl } = await services.open({ lots: 250_000 });
  const client = openClient(baseUrl);
  const floor = openFloor(baseUrl, "bench-token");
  const own: HttpPeer = {
    name: OWN,
    getItem: (shortID) => client.items.get(shortID),
    getPage: (page) => client.inventory.listLots({ page }).page(),
  };
  const peers = [floor, own, ...(await openHttpPeers(baseUrl, "bench-token", GENERATED_CLIENT))];
  const contenders: Contender[] = peers.map((peer) => ({ name: peer.name, run: call(peer) }));
  const costs = await interleave(contenders, effort);
  await client.close();
  services.close();
  const floorCosts = costs.get(floor.name) ?? [];
  return peers.map(({ name }): Figures => {
    const own = costs.get(name) ?? [];
    const wall = ratios(own, floorCosts, "wall");
    return {
      name,
      wall,
      cpu: ratios(own, floorCosts, "cpu"),
      micros: [...own].sort((a, b) => a.wall - b.wall)[Math.floor(own.length / 2)]?.wall ?? Number.NaN,
    };
  });
}

const rowsOf = (figures: readonly Figures[]) =>
  figures.map(({ name, wall, cpu, micros }) => [
    name,
    { value: wall, digits: 2, unit: "×" },
    { value: cpu, digits: 2, unit: "×" },
    { value: micros, digits: 0, unit: "µs" },
  ]);

const COLUMNS = ["client", "wall", "CPU", "a call"];
const NOTE =
  "Sequential calls on loopback to a service in a process of its own; multiples of undici.request + JSON.parse in the same round: median, quartiles.";

export async function overhead(quick: boolean): Promise<Section> {
  // V8's compiler takes some thousand calls to come to rest.
  const effort = quick ? { rounds: 11, calls: 100, warmUp: 1_500 } : { rounds: 31, calls: 300, warmUp: 4_000 };
  const figures = await compare(
    ({ getItem }) =>
      () =>
        getItem("BOLT-M8X40-A2"),
    effort,
  );
  const own = figures.find(({ name }) => name === OWN);
  const others = figures.filter(({ name }) => name !== OWN && name !== "undici.request" && name !== "global fetch");
  const nearest = Math.min(...others.map(({ wall }) => wall.median));
  return {
    title: "Overhead of one call",
    note: `items.get with everything on: limiter, token, retry, validation, gzip asked. ${NOTE}`,
    columns: COLUMNS,
    rows: rowsOf(figures),
    checks: [
      { what: "one call, × the floor (wall)", value: own?.wall.median ?? Number.NaN, atMost: 1.2 },
      { what: "one call, × the floor (CPU)", value: own?.cpu.median ?? Number.NaN, atMost: 1.2 },
      {
        what: "the nearest of got, ky, axios, openapi-fetch, hey-api, × stocklot",
        value: nearest / (own?.wall.median ?? Number.NaN),
        atLeast: 2,
      },
    ],
    charts: [
      {
        kind: "bars",
        title: "One call, sequential",
        unit: "× undici.request + JSON.parse",
        bars: figures.map(({ name, wall }) => ({ name, value: wall.median, spread: wall, own: name === OWN })),
      },
    ],
  };
}

export async function page(quick: boolean): Promise<Section> {
  const effort = quick ? { rounds: 7, calls: 25, warmUp: 150 } : { rounds: 21, calls: 50, warmUp: 400 };
  let next = 0;
  const turn =
    ({ getPage }: HttpPeer) =>
    () => {
      next = (next % 400) + 1;
      return getPage(next);
    };
  const figures = await compare(turn, effort);
  const own = figures.find(({ name }) => name === OWN);
  return {
    title: "A page of 250 lots",
    note: `inventory.listLots({ page }).page(), validated; only hey-api's client validates too. ${NOTE}`,
    columns: COLUMNS,
    rows: rowsOf(figures),
    checks: [{ what: "a page of 250 lots, × the floor (wall)", value: own?.wall.median ?? Number.NaN, atMost: 1.3 }],
    charts: [
      {
        kind: "bars",
        title: "A page of 250 lots",
        unit: "× undici.request + JSON.parse",
        bars: figures.map(({ name, wall }) => ({ name, value: wall.median, spread: wall, own: name === OWN })),
      },
    ],
  };
}
