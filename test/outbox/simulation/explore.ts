import { type ExploreOptions, type Faults, World } from "./world.js";

/** An exploration in which no fault happens. */
export const NO_FAULTS: Faults = { crash: 0, lost: 0, late: 0, stall: 0, unheard: 0, all: 0 };
const MAX_STEPS = 2_000;

export interface Exploration {
  ends: number;
  /** The steps that led to a wrong end, and the problems there. */
  wrong?: { steps: string[]; problems: string[] };
}

/** Returns what is wrong at the end, compared with what the service has applied. */
function problemsOf({ rows, effects }: World): string[] {
  const found: string[] = [];
  for (const { key, operation, state, boundTo } of rows.entries) {
    // Only the first process may send a bound entry. If it is bound to "gone", nobody may.
    if (
      boundTo !== null &&
      (boundTo === "gone" || effects.some((effect) => effect.key === key && effect.process !== 0))
    )
      if (effects.some((effect) => effect.key === key)) found.push(`${key} was not sent by its sender`);
    if (boundTo !== null && state === "pending") found.push(`${key} is bound, but still pending`);
    const times = effects.filter((effect) => effect.key === key).length;
    if (operation !== "update" && times > 1) found.push(`${key} was applied ${times} times`);
    if (state === "applied" && times === 0) found.push(`${key} is stored as applied, but was not applied`);
    if (["rejected", "pending", "canceled"].includes(state) && times > 0)
      found.push(`${key} is stored as ${state}, but was applied`);
    if (state === "sending") found.push(`${key} is still sending`);
    if (state === "unknown" && (operation === "update" || operation === "receive")) found.push(`${key} is unknown`);
  }
  const order = effects.filter(({ item }) => item === "A").map(({ key }) => key);
  if (order.join() !== [...order].sort().join()) found.push(`out of order: ${order.join(", ")}`);
  return found;
}

/** Takes the choices of a path, and then always the first choice, until a known state or the end. */
async function follow(
  path: readonly string[],
  known: Set<string>,
  { specs, faults, ...options }: ExploreOptions,
): Promise<{ branches: string[][]; problems?: string[]; steps: string[]; isEnd: boolean }> {
  const world = new World(specs, faults, options);
  try {
    await world.start();
    await world.start();
    const steps: string[] = [];
    const branches: string[][] = [];
    while (!world.isOver) {
      if (steps.length >= path.length) {
        const key = world.key();
        if (known.has(key)) return { branches, steps, isEnd: false };
        known.add(key);
      }
      const choices = world.choices();
      const [first, ...others] = choices;
      const choice = path[steps.length] ?? first;
      if (choice === undefined || steps.length > MAX_STEPS)
        return { branches, steps, problems: ["it does not end"], isEnd: true };
      if (steps.length >= path.length) for (const other of others) branches.push([...steps, other]);
      await world.take(choice);
      steps.push(choice);
    }
    // A last process, to which no fault happens, settles what is left.
    await world.start();
    for (let step = 0; !world.isOver; step += 1) {
      const [choice] = world.choices().filter((one) => !/^(crash|stall|lose|late|unheard)/.test(one));
      if (choice === undefined || step > MAX_STEPS) throw new Error("the last process does not end");
      await world.take(choice);
    }
    return { branches, steps, problems: problemsOf(world), isEnd: true };
  } finally {
    world.dispose();
  }
}

/** Visits each reachable state once. Stops at the first wrong end. */
export async function explore(options: ExploreOptions): Promise<Exploration> {
  const known = new Set<string>();
  const waiting: string[][] = [[]];
  let ends = 0;
  for (let path = waiting.pop(); path; path = waiting.pop()) {
    const { branches, problems = [], steps, isEnd } = await follow(path, known, options);
    waiting.push(...branches);
    ends += Number(isEnd);
    if (problems.length > 0) return { ends, wrong: { steps, problems } };
  }
  return { ends };
}
