import { AlwaysOffSampler, NodeTracerProvider } from "@opentelemetry/sdk-trace-node";
import type { instrumentStocklot } from "stocklot/opentelemetry";
import { medianOf, spreadOf } from "../measure.js";
import { BUILT_PACKAGE } from "../paths.js";
import { itemJson } from "../records.js";
import type { Section } from "../results.js";
import { openClient } from "../stocklot.js";

const CALLS_PER_ROUND = 400;
const MAX_SHARE = 1.05;

/** Measures calls without a network. Rounds with and without an instrumentation that records nothing take turns. */
export async function telemetry(quick: boolean): Promise<Section> {
  const built = (await import(new URL("opentelemetry.js", BUILT_PACKAGE).href)) as {
    instrumentStocklot: typeof instrumentStocklot;
  };
  const tracerProvider = new NodeTracerProvider({ sampler: new AlwaysOffSampler() });
  const modes: Record<string, () => () => void> = {
    "no SDK": () => built.instrumentStocklot(),
    "an SDK that samples nothing": () => built.instrumentStocklot({ tracerProvider }),
  };
  const token = JSON.stringify({ access_token: "bench-token", token_type: "bearer", expires_in: 86_400 });
  const fetch = async (url: string) => new Response(url.endsWith("/Token") ? token : itemJson);
  const client = await openClient("https://inventory.test/api/v1", { fetch });
  const round = async () => {
    const before = process.cpuUsage();
    for (let call = 0; call < CALLS_PER_ROUND; call += 1) await client.items.get("BOLT-M8");
    const { user, system } = process.cpuUsage(before);
    return (user + system) / CALLS_PER_ROUND;
  };
  for (let warmUp = 0; warmUp < 10; warmUp += 1) await round();
  const results: [name: string, without: number[], together: number[]][] = [];
  for (const [name, start] of Object.entries(modes)) {
    const [without, together]: [number[], number[]] = [[], []];
    const instrumented = async () => {
      const stop = start();
      together.push(await round());
      stop();
    };
    for (let count = 0; count < (quick ? 15 : 100); count += 1) {
      if (count % 2) await instrumented();
      without.push(await round());
      if (count % 2 === 0) await instrumented();
    }
    results.push([name, without, together]);
  }
  await client.close();
  const unit = "µs of CPU time per call";
  /** Returns the median ratio of consecutive rounds. They are compared in pairs, because the speed of a machine changes. */
  const ratio = (without: number[], together: number[]) =>
    medianOf(together.map((time, index) => time / (without[index] ?? Number.NaN)));
  return {
    title: "An instrumentation that records nothing",
    note: `Calls of items.get on a fetch function without a network; rounds of ${CALLS_PER_ROUND} calls, in turn with and without.`,
    columns: ["instrumentation", "without", "with"],
    rows: results.map(([name, without, together]) => [
      name,
      { value: spreadOf(without), digits: 1, unit },
      { value: spreadOf(together), digits: 1, unit },
    ]),
    checks: results.map(([name, without, together]) => ({
      what: `${name}: × the time of a call without it`,
      value: ratio(without, together),
      atMost: MAX_SHARE,
    })),
  };
}
