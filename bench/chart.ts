import type { BarChart, LineChart, Section } from "./results.js";

const WIDTH = 860;
const PANEL_WIDTH = 410;
const GAP = 40;
const ROW = 22;
const LABEL_WIDTH = 190;
const PLOT_HEIGHT = 150;

interface Drawing {
  height: number;
  body: string;
}

/** One SVG with all charts, two per row, readable on a light and on a dark page. */
export function chartOf(sections: readonly Section[], machine: { node: string; cores: number }): string {
  const drawings = sections.flatMap(({ charts }) =>
    charts.map((chart) => (chart.kind === "bars" ? bars(chart) : lines(chart))),
  );
  let y = 24;
  let body = "";
  for (let index = 0; index < drawings.length; index += 2) {
    const pair = drawings.slice(index, index + 2);
    pair.forEach((drawing, column) => {
      body += `<g transform="translate(${column * (PANEL_WIDTH + GAP)} ${y})">${drawing.body}</g>\n`;
    });
    y += Math.max(...pair.map(({ height }) => height)) + 28;
  }
  const height = y + 8;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="img" aria-label="Benchmark results">
<style>
  text { font: 12px system-ui, sans-serif; fill: #24292f; }
  .title { font-weight: 600; font-size: 13px; }
  .quiet { fill: #57606a; font-size: 11px; }
  .own { fill: #0969da; } .other { fill: #8c959f; }
  .own-line { stroke: #0969da; } .other-line { stroke: #8c959f; }
  polyline { fill: none; stroke-width: 2; } .axis { stroke: #d0d7de; } .spread { stroke: #24292f; }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3; } .quiet { fill: #9198a1; } .own { fill: #4493f8; } .other { fill: #656c76; }
    .own-line { stroke: #4493f8; } .other-line { stroke: #656c76; } .axis { stroke: #3d444d; } .spread { stroke: #e6edf3; }
  }
</style>
${body}<text class="quiet" x="0" y="${height - 6}">Node ${machine.node}, ${machine.cores} cores, loopback; medians over interleaved rounds.</text>
</svg>
`;
}

const heading = (title: string, unit: string) =>
  `<text class="title" x="0" y="0">${escapeXml(title)}</text><text class="quiet" x="0" y="16">${escapeXml(unit)}</text>`;

function bars({ title, unit, bars }: BarChart): Drawing {
  const room = PANEL_WIDTH - LABEL_WIDTH - 50;
  const most = Math.max(...bars.map(({ value, spread }) => Math.max(value, spread?.high ?? 0)), Number.MIN_VALUE);
  const across = (value: number) => (room * Math.max(0, value)) / most;
  const body = bars.map(({ name, value, spread, own }, index) => {
    const y = 28 + index * ROW;
    const end = LABEL_WIDTH + across(Math.max(value, spread?.high ?? 0)) + 6;
    const whisker = spread
      ? `<line class="spread" x1="${round(LABEL_WIDTH + across(spread.low))}" x2="${round(LABEL_WIDTH + across(spread.high))}" y1="${y + 7}" y2="${y + 7}"/>`
      : "";
    return `<text x="${LABEL_WIDTH - 8}" y="${y + 11}" text-anchor="end">${escapeXml(name)}</text><rect class="${own ? "own" : "other"}" x="${LABEL_WIDTH}" y="${y}" width="${round(Math.max(across(value), 1))}" height="14" rx="2"/>${whisker}<text x="${round(end)}" y="${y + 11}">${figure(value)}</text>`;
  });
  return { height: 28 + bars.length * ROW, body: heading(title, unit) + body.join("") };
}

function lines({ title, unit, lines }: LineChart): Drawing {
  const left = 34;
  const right = PANEL_WIDTH - 10;
  const sizes = [...new Set(lines.flatMap(({ points }) => points.map(([x]) => x)))];
  const most = Math.max(...lines.flatMap(({ points }) => points.map(([, { high }]) => high))) * 1.05;
  const [least = 1, largest = 10] = [Math.min(...sizes), Math.max(...sizes)];
  const x = (size: number) => round(left + ((right - left) * Math.log(size / least)) / Math.log(largest / least));
  const y = (value: number) => round(28 + PLOT_HEIGHT * (1 - value / most));
  const axis = `<line class="axis" x1="${left}" x2="${right}" y1="${y(0)}" y2="${y(0)}"/>${sizes
    .map(
      (size) =>
        `<text class="quiet" x="${x(size)}" y="${y(0) + 16}" text-anchor="middle">${size.toLocaleString("en")}</text>`,
    )
    .join(
      "",
    )}<text class="quiet" x="${left - 6}" y="${y(0) + 4}" text-anchor="end">0</text><text class="quiet" x="${left - 6}" y="${y(most / 1.05) + 4}" text-anchor="end">${figure(most / 1.05)}</text>`;
  const drawn = lines.map(({ points, own }, index) => {
    const kind = own ? "own" : "other";
    const marks = points.map(
      ([size, { median, low, high }]) =>
        `<line class="spread" x1="${x(size)}" x2="${x(size)}" y1="${y(low)}" y2="${y(high)}"/><circle class="${kind}" cx="${x(size)}" cy="${y(median)}" r="3"/>`,
    );
    const path = points.map(([size, { median }]) => `${x(size)},${y(median)}`).join(" ");
    return `<polyline class="${kind}-line" stroke-dasharray="${DASHES[index % DASHES.length]}" points="${path}"/>${marks.join("")}`;
  });
  const legend = lines.map(({ name, own }, index) => {
    const at = y(0) + 36 + index * 18;
    return `<line class="${own ? "own" : "other"}-line" stroke-width="2" stroke-dasharray="${DASHES[index % DASHES.length]}" x1="${left}" x2="${left + 26}" y1="${at - 4}" y2="${at - 4}"/><text x="${left + 34}" y="${at}">${escapeXml(name)}</text>`;
  });
  return {
    height: 28 + PLOT_HEIGHT + 36 + lines.length * 18,
    body: heading(title, unit) + axis + drawn.join("") + legend.join(""),
  };
}

const DASHES = ["none", "7 4", "2 3"];

const round = (value: number) => Math.round(value * 10) / 10;
const figure = (value: number) =>
  (value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2)).replace(/\.0+$/, "");
const escapeXml = (text: string) => text.replace(/[&<>]/g, (sign) => `&#${sign.charCodeAt(0)};`);
