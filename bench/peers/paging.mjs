/** How other clients read a list to its end. */
import { Octokit } from "@octokit/core";
import { paginateRest } from "@octokit/plugin-paginate-rest";
import Stripe from "stripe";

/** Reads a list with the usual hand-written loop. */
export async function sequentialLoop(getPage, onPage) {
  let hasMore = true;
  for (let page = 1; hasMore; page += 1) {
    const response = await getPage(page);
    await onPage(response.value.length);
    hasMore = response.hasMore;
  }
}

/** Reads a list with `octokit.paginate.iterator`. It needs a Link header, which is created here from `hasMore`. */
export async function octokitStyle(baseUrl, token, onPage) {
  const octokit = new (Octokit.plugin(paginateRest))({ baseUrl, auth: token });
  octokit.hook.after("request", (response) => {
    const { hasMore, page, pageSize, value } = response.data;
    if (hasMore) response.headers.link = `<${baseUrl}/Inventory?page=${page + 1}&pageSize=${pageSize}>; rel="next"`;
    response.data = value;
  });
  for await (const { data } of octokit.paginate.iterator("GET /Inventory", { page: 1, pageSize: 250 })) {
    await onPage(data.length);
  }
}

/** Reads a list with stripe-node's `for await`, which requests the next page when the previous page is used up. */
export async function stripeStyle(origin, onPage) {
  const { hostname, port } = new URL(origin);
  const stripe = new Stripe("sk_test_bench", {
    host: hostname,
    port: Number(port),
    protocol: "http",
    telemetry: false,
  });
  let records = 0;
  for await (const _ of stripe.customers.list({ limit: 250 })) {
    records += 1;
    if (records % 250 === 0) await onPage(250);
  }
  if (records % 250 !== 0) await onPage(records % 250);
}
