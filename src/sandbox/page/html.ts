const STYLE = `
:root { color-scheme: light dark; --line: #8884; }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 76rem; padding: 0 1.25rem 3rem; font: 14px/1.5 system-ui, sans-serif; }
header { display: flex; align-items: baseline; gap: 1rem; border-bottom: 1px solid var(--line); }
h1 { font-size: 1.3rem; margin: 1rem 0; }
h2 { font-size: 1rem; margin: 1.5rem 0 .5rem; }
#connection { margin: 0; opacity: .7; }
header a { margin-left: auto; color: inherit; }
section { overflow-x: auto; }
main { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 30rem), 1fr)); gap: 0 2.5rem; }
table { width: 100%; border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: .25rem .6rem .25rem 0; border-bottom: 1px solid var(--line); }
th { font-weight: 600; opacity: .7; }
th, td { white-space: nowrap; }
#stock :is(th, td):nth-child(n + 3), #transactions :is(th, td):nth-child(4), #requests :is(th, td):nth-child(6) { text-align: right; }
td.none { text-align: left !important; }
.failed { color: #c1121f; }
.fine { color: #2b8a3e; }
.none { opacity: .6; }
.gauge { margin: .4rem 0 .8rem; }
.gauge meter { width: 100%; height: .9rem; display: block; }
@media (prefers-color-scheme: dark) { .failed { color: #ff8787; } .fine { color: #69db7c; } }
`;

/** Runs in the browser as it is. Every value is set as text content, never as markup, since SKUs come from outside. */
const SCRIPT = `
"use strict";
const find = (selector) => document.querySelector(selector);
const time = (at) => new Date(at).toLocaleTimeString("en-GB");
const number = (value) => value.toLocaleString("en", { maximumFractionDigits: 6 });

function cell(text, className) {
  const td = document.createElement("td");
  td.textContent = text;
  if (className) td.className = className;
  return td;
}

function fill(table, rows, none) {
  const body = find(table + " tbody");
  const lines = rows.map((cells) => {
    const tr = document.createElement("tr");
    tr.append(...cells);
    return tr;
  });
  if (lines.length === 0) {
    const tr = document.createElement("tr");
    const td = cell(none, "none");
    td.colSpan = 9;
    tr.append(td);
    lines.push(tr);
  }
  body.replaceChildren(...lines);
}

function showStock(warehouses) {
  fill("#stock", warehouses.map((each) => [
    cell(each.wID), cell(each.name), cell(number(each.items)), cell(number(each.lots)),
    cell(number(each.inStock)), cell(number(each.onHold)), cell(number(each.available)),
  ]), "No warehouses.");
}

function showRate(rate, intervalMs) {
  const box = find("#rate");
  if (rate.length === 0) {
    const p = document.createElement("p");
    p.className = "none";
    p.textContent = intervalMs ? "No requests yet." : "No rate limit.";
    return box.replaceChildren(p);
  }
  box.replaceChildren(...rate.map(({ key, used, limit }) => {
    const gauge = document.createElement("div");
    gauge.className = "gauge";
    const label = document.createElement("span");
    label.textContent = key + ": " + used + " of " + limit + " in " + intervalMs / 1000 + " s";
    const meter = document.createElement("meter");
    Object.assign(meter, { min: 0, max: limit, high: limit * 0.9, value: used });
    meter.setAttribute("aria-label", label.textContent);
    gauge.append(label, meter);
    return gauge;
  }));
}

function showTransactions(transactions) {
  fill("#transactions", transactions.map((each) => [
    cell(time(each.at)), cell(each.kind), cell(each.shortID), cell(number(each.units)),
    cell(each.shipToWid === undefined ? each.wid : each.wid + " to " + each.shipToWid), cell(each.recNo),
  ]), "None yet.");
}

function showRequests(requests) {
  fill("#requests", requests.map((each) => {
    const query = new URLSearchParams(each.query).toString();
    const status = each.status === null ? "no response" : String(each.status);
    return [
      cell(time(each.at)), cell(each.method), cell(each.path + (query ? "?" + query : "")),
      cell(each.fault ? status + " (" + each.fault + ")" : status, each.status === null || each.status >= 400 ? "failed" : "fine"),
      cell(each.clientId || ""), cell(each.remaining === null ? "" : each.remaining),
    ];
  }), "None yet.");
}

const events = new EventSource("/events");
events.onopen = () => { find("#connection").textContent = "live"; };
events.onerror = () => { find("#connection").textContent = "not connected"; };
events.onmessage = ({ data }) => {
  const shown = JSON.parse(data);
  showStock(shown.warehouses);
  showRate(shown.rate, shown.intervalMs);
  showTransactions(shown.transactions);
  showRequests(shown.requests);
};
`;

/** The whole page: no build step, no other file, and nothing from another host. */
export const PAGE = `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>stocklot sandbox</title>
<style>${STYLE}</style>
</head>
<body>
<header>
  <h1>stocklot sandbox</h1>
  <p id="connection" role="status">connecting</p>
  <a href="/openapi.json">OpenAPI document</a>
</header>
<main>
  <section aria-labelledby="stock-title">
    <h2 id="stock-title">Stock by warehouse</h2>
    <table id="stock">
      <thead><tr><th>ID</th><th>Warehouse</th><th>Items</th><th>Lots</th><th>In stock</th><th>On hold</th><th>Available</th></tr></thead>
      <tbody></tbody>
    </table>
  </section>
  <section aria-labelledby="rate-title">
    <h2 id="rate-title">Rate window</h2>
    <div id="rate"><p class="none">No requests yet.</p></div>
  </section>
  <section aria-labelledby="transactions-title">
    <h2 id="transactions-title">Transactions</h2>
    <table id="transactions">
      <thead><tr><th>Time</th><th>Kind</th><th>Item</th><th>Units</th><th>Warehouse</th><th>Record</th></tr></thead>
      <tbody></tbody>
    </table>
  </section>
  <section aria-labelledby="requests-title">
    <h2 id="requests-title">Last requests</h2>
    <table id="requests">
      <thead><tr><th>Time</th><th>Method</th><th>Path</th><th>Status</th><th>Client</th><th>Left</th></tr></thead>
      <tbody></tbody>
    </table>
  </section>
</main>
<script>${SCRIPT}</script>
</body>
</html>
`;
