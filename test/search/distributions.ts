type Distribution = (count: number, random: () => number) => number[];

const ascending = (count: number, next: () => number): number[] => {
  const numbers = new Set<number>();
  while (numbers.size < count) numbers.add(next());
  return [...numbers].sort((one, other) => one - other);
};

const counted =
  (start: number, gap: (random: () => number) => number): Distribution =>
  (count, random) => {
    let last = start;
    return Array.from({ length: count }, () => (last += gap(random)));
  };

/** Part numbers that a service assigns in ascending order. */
export const COUNTED: Record<string, Distribution> = {
  dense: counted(0, () => 1),
  "dense from a million": counted(1_000_000, () => 1),
  gaps: counted(0, (random) => 1 + Math.floor(random() * 9)),
  "random gaps from 500 000": counted(500_000, (random) => 1 + Math.floor(-20 * Math.log(1 - random()))),
};

/** Part numbers with an uneven distribution. */
export const UNEVEN: Record<string, Distribution> = {
  exponential: (count, random) => ascending(count, () => Math.floor(Math.exp(random() * 30))),
  clustered: (count, random) => {
    const clusters = Array.from({ length: 20 }, () => Math.floor(random() * 1e12));
    return ascending(count, () => (clusters[Math.floor(random() * 20)] ?? 0) + Math.floor(random() * count * 2));
  },
  powers: (count, random) => ascending(count, () => Math.floor(1e15 * random() ** 8)),
};

export const ALL_DISTRIBUTIONS = { ...COUNTED, ...UNEVEN };
