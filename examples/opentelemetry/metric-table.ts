/** Lists metrics, one line per name: the number of calls of a histogram with its mean, or else the sum of the values. */
import type { DataPoint, Histogram, ResourceMetrics } from "@opentelemetry/sdk-metrics";

type Point = DataPoint<unknown>;

/** The lines of the metrics that were exported last. */
export function metricTable(exported: readonly ResourceMetrics[]): string[] {
  const metrics = exported.at(-1)?.scopeMetrics.flatMap((scope) => scope.metrics) ?? [];
  return metrics.map(({ descriptor: { name }, dataPoints }) => `${name.padEnd(40)} ${valueText(dataPoints)}`);
}

function valueText(points: readonly Point[]): string {
  const histograms = points.flatMap(({ value }) => (isHistogram(value) ? value : []));
  if (histograms.length === 0) return String(total(points.map(({ value }) => Number(value))));
  const count = total(histograms.map((histogram) => histogram.count));
  const seconds = total(histograms.map(({ sum = 0 }) => sum));
  return `${count} × ${Math.round((seconds / count) * 1_000)} ms`;
}

const isHistogram = (value: unknown): value is Histogram => typeof value === "object";

const total = (numbers: readonly number[]) => numbers.reduce((sum, number) => sum + number, 0);
