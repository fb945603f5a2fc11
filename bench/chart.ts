import type { BarChart, LineChart, Results } from "./results.js";

/** The width of a chart, unless a page stretches it: positions are in percent of the width. */
const WIDTH = 400;
/** The height of a bar with its name. The name is above the bar, so that names of any length fit. */
const ROW = 36;
const BAR = 12;
/** The length of the longest bar, in percent. The rest is for its figure, which is next to the bar. */
const LONGEST_BAR = 84;
const PLOT_HEIGHT = 150;
const PLOT_LEFT = 10;
const PLOT_RIGHT = 94;

interface Drawing {
  height: number;
  body: string;
}

/** The same styles as in the style sheet of the site, which draws charts in the colours of a page. */
const STYLES = `
  svg { color: #1f2328; } svg { --muted: #59636e; --own: #0969da; --other: #8c959f; --axis: #d1d9e0; }
  @media (prefers-color-scheme: dark) {
    svg { color: #f0f6fc; --muted: #9198a1; --own: #4493f8; --other: #8b949e; --axis: #3d444d; }
  }
  text { font: 13px system-ui, sans-serif; fill: currentColor; }
  .title { font-weight: 600; font-size: 15px; }
  .unit { fill: var(--muted); font-size: 12px; }
  .own { fill: var(--own); } .other { fill: var(--other); }
  .own-line { stroke: var(--own); } .other-line { stroke: var(--other); }
  .axis { stroke: var(--axis); } .spread { stroke: currentColor; }
`;

/** Returns the chart of a section as a transparent SVG, in the colours of the reader's colour scheme. */
export function chartOf(chart: BarChart | LineChart, machine: Results["machine"]): string {
  const { height, body } = chart.kind === "bars" ? bars(chart) : lines(chart);
  const total = 44 + height + 34;
  return `<svg xmlns="http://www.w3.org/2000/svg" class="chart" width="${WIDTH}" height="${total}" role="img" aria-label="${escapeXml(chart.title)}">
<style>${STYLES}</style>
<text class="title" y="16">${escapeXml(chart.title)}</text>
<text class="unit" y="34">${escapeXml(chart.unit)}</text>
<g transform="translate(0 44)">${body}</g>
<text class="unit" y="${total - 8}">Node ${machine.node}, ${machine.cores} cores, loopback; medians with quartiles</text>
</svg>
`;
}

function bars({ bars }: BarChart): Drawing {
  const largest = Math.max(...bars.map(({ value, spread }) => Math.max(value, spread?.high ?? 0)), Number.MIN_VALUE);
  const x = (value: number) => percent((LONGEST_BAR * Math.max(0, value)) / largest);
  const body = bars.map(({ name, value, spread, own }, index) => {
    const top = index * ROW + 17;
    const middle = top + BAR / 2;
    const whisker = spread
      ? `<line class="spread" x1="${x(spread.low)}" x2="${x(spread.high)}" y1="${middle}" y2="${middle}"/>`
      : "";
    const end = x(Math.max(value, spread?.high ?? 0));
    return `<text y="${top - 4}">${escapeXml(name)}</text><rect class="${own ? "own" : "other"}" y="${top}" width="${x(value)}" height="${BAR}" rx="2"/>${whisker}<text x="${end}" dx="6" y="${top + BAR - 1}">${figure(value)}</text>`;
  });
  return { height: bars.length * ROW, body: body.join("") };
}

function lines({ lines }: LineChart): Drawing {
  const sizes = [...new Set(lines.flatMap(({ points }) => points.map(([x]) => x)))];
  const end = roundUp(Math.max(...lines.flatMap(({ points }) => points.map(([, { high }]) => high))));
  const [least = 1, largest = 10] = [Math.min(...sizes), Math.max(...sizes)];
  const x = (size: number) =>
    percent(PLOT_LEFT + ((PLOT_RIGHT - PLOT_LEFT) * Math.log(size / least)) / Math.log(largest / least));
  const y = (value: number) => round(12 + PLOT_HEIGHT * (1 - value / end));
  const bottom = y(0);
  const xLabels = sizes.map(
    (size) =>
      `<text class="unit" x="${x(size)}" y="${bottom + 16}" text-anchor="middle">${size.toLocaleString("en")}</text>`,
  );
  const grid = [0, end / 2, end].map(
    (value) =>
      `<text class="unit" x="${PLOT_LEFT}%" dx="-8" y="${y(value) + 4}" text-anchor="end">${figure(value)}</text><line class="axis" x1="${PLOT_LEFT}%" x2="${PLOT_RIGHT}%" y1="${y(value)}" y2="${y(value)}"/>`,
  );
  const drawn = lines.map(({ points, own }, index) => {
    const kind = own ? "own" : "other";
    const marks = points.map(
      ([size, { median, low, high }]) =>
        `<line class="spread" x1="${x(size)}" x2="${x(size)}" y1="${y(low)}" y2="${y(high)}"/><circle class="${kind}" cx="${x(size)}" cy="${y(median)}" r="3"/>`,
    );
    const parts = points.slice(1).map(([size, { median }], part) => {
      const [from, { median: start }] = points[part] ?? [size, { median }];
      return `<line class="${kind}-line" stroke-width="2" stroke-dasharray="${dashes(index)}" x1="${x(from)}" x2="${x(size)}" y1="${y(start)}" y2="${y(median)}"/>`;
    });
    return [...parts, ...marks].join("");
  });
  const legend = lines.map(({ name, own }, index) => {
    const baseline = bottom + 40 + index * 18;
    return `<line class="${own ? "own" : "other"}-line" stroke-width="2" stroke-dasharray="${dashes(index)}" x2="26" y1="${baseline - 4}" y2="${baseline - 4}"/><text x="34" y="${baseline}">${escapeXml(name)}</text>`;
  });
  const body = [...xLabels, ...grid, ...drawn, ...legend].join("");
  return { height: bottom + 30 + lines.length * 18, body };
}

const DASHES = ["none", "7 4", "2 3"];
const dashes = (index: number) => DASHES[index % DASHES.length];

/** Rounds up to the next of 1, 2, 5, 10, 20 and so on. */
function roundUp(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value));
  return power * ([1, 2, 5, 10].find((step) => step * power >= value) ?? 10);
}

const percent = (value: number) => `${round(value)}%`;
const round = (value: number) => Math.round(value * 10) / 10;
const figure = (value: number) =>
  (value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2)).replace(/\.0+$/, "");
const escapeXml = (text: string) => text.replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);
