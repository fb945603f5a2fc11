/**
 * Rate limiters, each used as its own documentation shows for "at most n requests in m ms". Each runs a task for every
 * page from 1 to `pages` and returns how many of them failed.
 */
import { Octokit } from "@octokit/core";
import { throttling } from "@octokit/plugin-throttling";
import Bottleneck from "bottleneck";
import PQueue from "p-queue";
import pThrottle from "p-throttle";

const count = (pages) => Array.from({ length: pages }, (_, index) => index + 1);

export const limiters = [
  {
    name: "bottleneck (reservoir)",
    async run(task, pages, { requests, intervalMs }) {
      const limiter = new Bottleneck({
        reservoir: requests,
        reservoirRefreshAmount: requests,
        reservoirRefreshInterval: intervalMs,
        maxConcurrent: 16,
      });
      await Promise.all(count(pages).map((page) => limiter.schedule(() => task(page))));
      await limiter.disconnect();
    },
  },
  {
    name: "p-queue (strict)",
    async run(task, pages, { requests, intervalMs }) {
      const queue = new PQueue({ concurrency: 16, interval: intervalMs, intervalCap: requests, strict: true });
      await Promise.all(count(pages).map((page) => queue.add(() => task(page))));
    },
  },
  {
    name: "p-throttle (strict)",
    async run(task, pages, { requests, intervalMs }) {
      const throttled = pThrottle({ limit: requests, interval: intervalMs, strict: true })(task);
      await Promise.all(count(pages).map((page) => throttled(page)));
    },
  },
];

/** Only the queues: each runs jobs that do nothing, with settings that hardly delay them. */
export const queues = [
  {
    name: "p-queue",
    async run(jobs) {
      const queue = new PQueue({ concurrency: 16 });
      await Promise.all(jobs.map((job) => queue.add(job)));
    },
  },
  {
    name: "bottleneck",
    // Each job takes more than 2 ms in this queue.
    largest: 1_000,
    async run(jobs) {
      const limiter = new Bottleneck({ maxConcurrent: 16 });
      await Promise.all(jobs.map((job) => limiter.schedule(job)));
    },
  },
];

/** octokit's plugin has no option for a limit. It keeps ten requests in flight, and reacts to refusals. */
export async function octokitThrottling(baseUrl, token, pages, onFailure) {
  const octokit = new (Octokit.plugin(throttling))({
    baseUrl,
    auth: token,
    log: { debug() {}, info() {}, warn() {}, error() {} },
    throttle: {
      onRateLimit: (_retryAfter, _options, _octokit, retryCount) => retryCount < 5,
      onSecondaryRateLimit: (_retryAfter, _options, _octokit, retryCount) => retryCount < 5,
    },
  });
  await Promise.all(
    count(pages).map((page) => octokit.request("GET /Inventory", { page, pageSize: 1 }).catch(onFailure)),
  );
}
