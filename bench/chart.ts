import type { BarChart, LineChart, Results } from "./results.js";

/** Narrow, so that the text stays legible on a phone. */
const WIDTH = 400;
const PADDING = 16;
const INNER_WIDTH = WIDTH - 2 * PADDING;
/** A label above its bar, so that labels of any length fit. */
const ROW = 36;
const BAR = 12;
const VALUE_WIDTH = 56;
const PLOT_HEIGHT = 150;

interface Drawing {
  height: number;
  body: string;
}

/** The chart of a section as an SVG with a background, since it cannot know that of the page. */
export function chartOf(chart: BarChart | LineChart, machine: Results["machine"]): string {
  const { height, body } = chart.kind === "bars" ? bars(chart) : lines(chart);
  const total = PADDING + 44 + height + 34;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${total}" width="${WIDTH}" height="${total}" role="img" aria-label="${escapeXml(chart.title)}">
<style>
  text { font: 13px system-ui, sans-serif; fill: #24292f; }
  .title { font-weight: 600; font-size: 15px; }
  .unit { fill: #57606a; font-size: 12px; }
  .own { fill: #0969da; } .other { fill: #8c959f; }
  .own-line { stroke: #0969da; } .other-line { stroke: #8c959f; }
  polyline { fill: none; stroke-width: 2; } .axis { stroke: #d0d7de; } .spread { stroke: #24292f; }
</style>
<rect x="0.5" y="0.5" width="${WIDTH - 1}" height="${total - 1}" rx="6" fill="#ffffff" stroke="#d0d7de"/>
<text class="title" x="${PADDING}" y="${PADDING + 12}">${escapeXml(chart.title)}</text>
<text class="unit" x="${PADDING}" y="${PADDING + 30}">${escapeXml(chart.unit)}</text>
<g transform="translate(${PADDING} ${PADDING + 44})">${body}</g>
<text class="unit" x="${PADDING}" y="${total - 12}">Node ${machine.node}, ${machine.cores} cores, loopback; medians with quartiles</text>
</svg>
`;
}

function bars({ bars }: BarChart): Drawing {
  const largest = Math.max(...bars.map(({ value, spread }) => Math.max(value, spread?.high ?? 0)), Number.MIN_VALUE);
  const x = (value: number) => round(((INNER_WIDTH - VALUE_WIDTH) * Math.max(0, value)) / largest);
  const body = bars.map(({ name, value, spread, own }, index) => {
    const top = index * ROW + 17;
    const middle = top + BAR / 2;
    const whisker = spread
      ? `<line class="spread" x1="${x(spread.low)}" x2="${x(spread.high)}" y1="${middle}" y2="${middle}"/>`
      : "";
    const end = x(Math.max(value, spread?.high ?? 0)) + 6;
    return `<text y="${top - 4}">${escapeXml(name)}</text><rect class="${own ? "own" : "other"}" y="${top}" width="${Math.max(x(value), 1)}" height="${BAR}" rx="2"/>${whisker}<text x="${end}" y="${top + BAR - 1}">${figure(value)}</text>`;
  });
  return { height: bars.length * ROW, body: body.join("") };
}

function lines({ lines }: LineChart): Drawing {
  const left = 34;
  const right = INNER_WIDTH - 22;
  const sizes = [...new Set(lines.flatMap(({ points }) => points.map(([x]) => x)))];
  const largestValue = Math.max(...lines.flatMap(({ points }) => points.map(([, { high }]) => high)));
  const [least = 1, largest = 10] = [Math.min(...sizes), Math.max(...sizes)];
  const x = (size: number) => round(left + ((right - left) * Math.log(size / least)) / Math.log(largest / least));
  const y = (value: number) => round(8 + PLOT_HEIGHT * (1 - value / (largestValue * 1.05)));
  const bottom = y(0);
  const xLabels = sizes.map(
    (size) =>
      `<text class="unit" x="${x(size)}" y="${bottom + 16}" text-anchor="middle">${size.toLocaleString("en")}</text>`,
  );
  const yLabels = [0, largestValue].map(
    (value) => `<text class="unit" x="${left - 8}" y="${y(value) + 4}" text-anchor="end">${figure(value)}</text>`,
  );
  const axis = `<line class="axis" x1="${left}" x2="${right}" y1="${bottom}" y2="${bottom}"/>`;
  const drawn = lines.map(({ points, own }, index) => {
    const kind = own ? "own" : "other";
    const marks = points.map(
      ([size, { median, low, high }]) =>
        `<line class="spread" x1="${x(size)}" x2="${x(size)}" y1="${y(low)}" y2="${y(high)}"/><circle class="${kind}" cx="${x(size)}" cy="${y(median)}" r="3"/>`,
    );
    const path = points.map(([size, { median }]) => `${x(size)},${y(median)}`).join(" ");
    return `<polyline class="${kind}-line" stroke-dasharray="${dashes(index)}" points="${path}"/>${marks.join("")}`;
  });
  const legend = lines.map(({ name, own }, index) => {
    const baseline = bottom + 40 + index * 18;
    return `<line class="${own ? "own" : "other"}-line" stroke-width="2" stroke-dasharray="${dashes(index)}" x2="26" y1="${baseline - 4}" y2="${baseline - 4}"/><text x="34" y="${baseline}">${escapeXml(name)}</text>`;
  });
  const body = [axis, ...xLabels, ...yLabels, ...drawn, ...legend].join("");
  return { height: bottom + 30 + lines.length * 18, body };
}

const DASHES = ["none", "7 4", "2 3"];
const dashes = (index: number) => DASHES[index % DASHES.length];

const round = (value: number) => Math.round(value * 10) / 10;
const figure = (value: number) =>
  (value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2)).replace(/\.0+$/, "");
const escapeXml = (text: string) => text.replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);
