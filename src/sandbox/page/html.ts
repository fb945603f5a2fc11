import type { SandboxClient } from "../options/options.js";

const FAULT_CHOICES = [
  ["503", "503 Service Unavailable"],
  ["drop-after", "connection dropped after the effect"],
  ["hang", "no response"],
  ["429", "429 Too Many Requests"],
];

const escapeHtml = (text: string) => text.replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);

/** The whole page: no build step, no other file, and nothing from another host. */
export function renderPageHtml({ clientId, clientSecret }: SandboxClient, basePath: string): string {
  const variables = `data-path="${escapeHtml(basePath)}" data-id="${escapeHtml(clientId)}" data-secret="${escapeHtml(clientSecret)}"`;
  const faults = FAULT_CHOICES.map(([value, text]) => `<option value="${value}">${text}</option>`).join("");
  return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>stocklot sandbox</title>
<style>${PAGE_STYLE}</style>
</head>
<body>
<header>
  <h1>stocklot sandbox</h1>
  <p id="connection" role="status">connecting</p>
  <a href="/openapi.json">OpenAPI document</a>
</header>
<main>
  <section aria-labelledby="connect-title">
    <h2 id="connect-title">Connect</h2>
    <p class="hint">Paste these variables into a terminal, then run your program there.</p>
    <pre id="variables" ${variables}></pre>
    <div class="actions"><button id="copy" type="button">Copy</button></div>
  </section>
  <section aria-labelledby="control-title">
    <h2 id="control-title">Control</h2>
    <form id="fault-form">
      <label>Fault<select name="fault">${faults}</select></label>
      <label>Path (* matches anything)<input name="path" value="*" required></label>
      <label>Times<input name="times" type="number" min="1" value="1" required></label>
      <button>Add fault rule</button>
    </form>
    <ul id="faults" aria-label="Fault rules"></ul>
    <div class="actions">
      <button id="clear-faults" type="button">Clear fault rules</button>
      <button id="reset" type="button">Reset the sandbox</button>
    </div>
    <p id="message" role="status"></p>
  </section>
  <section aria-labelledby="stock-title">
    <h2 id="stock-title">Stock by warehouse</h2>
    <table id="stock">
      <thead><tr><th>ID</th><th>Warehouse</th><th class="number detail">Items</th><th class="number detail">Lots</th><th class="number">In stock</th><th class="number detail">On hold</th><th class="number">Available</th></tr></thead>
      <tbody></tbody>
    </table>
  </section>
  <section aria-labelledby="rate-title">
    <h2 id="rate-title">Rate window</h2>
    <div id="rate"><p class="none">No requests yet.</p></div>
  </section>
  <section class="wide" aria-labelledby="requests-title">
    <h2 id="requests-title">Last requests</h2>
    <p class="hint">Select a path to see the body of the request.</p>
    <table id="requests">
      <thead><tr><th class="detail">Time</th><th>Method</th><th>Path</th><th>Status</th><th class="detail">Client</th><th class="number detail">Slots left</th></tr></thead>
      <tbody></tbody>
    </table>
  </section>
  <section class="wide" aria-labelledby="transactions-title">
    <h2 id="transactions-title">Transactions</h2>
    <table id="transactions">
      <thead><tr><th class="detail">Time</th><th>Kind</th><th>Item</th><th class="number">Units</th><th>Warehouse</th><th>Record</th></tr></thead>
      <tbody></tbody>
    </table>
  </section>
</main>
<script>${PAGE_SCRIPT}</script>
</body>
</html>
`;
}

const PAGE_STYLE = `
:root { color-scheme: light dark; --page: #fff; --line: #8884; --muted: #57606a; --failed: #b3121d; --fine: #1f7a35; }
@media (prefers-color-scheme: dark) { :root { --page: #16181b; --muted: #a3acb5; --failed: #ff8787; --fine: #69db7c; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 80rem; padding: 0 1rem 3rem; font: 14px/1.5 system-ui, sans-serif; }
html { background: var(--page); }
header { display: flex; flex-wrap: wrap; align-items: baseline; gap: 0 1rem; border-bottom: 1px solid var(--line); }
header a { margin-left: auto; color: inherit; }
h1 { font-size: 1.3rem; margin: 1rem 0; }
h2 { font-size: 1rem; margin: 1.5rem 0 .5rem; }
main { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 32rem), 1fr)); gap: 0 2.5rem; }
section { min-width: 0; }
.wide { grid-column: 1 / -1; }
#connection, .none, .hint { margin: 0; color: var(--muted); }
table { width: 100%; border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { text-align: left; vertical-align: top; padding: .25rem .6rem .25rem 0; border-bottom: 1px solid var(--line); overflow-wrap: anywhere; }
th { font-weight: 600; color: var(--muted); overflow-wrap: normal; }
.number { text-align: right; white-space: nowrap; }
.failed { color: var(--failed); }
.fine { color: var(--fine); }
.gauge { margin: .4rem 0 .8rem; }
.gauge meter { width: 100%; height: .9rem; display: block; }
pre { margin: .3rem 0; padding: .6rem; border: 1px solid var(--line); border-radius: 4px; white-space: pre-wrap; overflow-wrap: anywhere; }
form, .actions { display: flex; flex-wrap: wrap; gap: .5rem; align-items: end; margin: .5rem 0; }
label { display: flex; flex-direction: column; color: var(--muted); }
input, select, button { font: inherit; padding: .2rem .5rem; }
input[type="number"] { width: 5rem; }
button.link { border: 0; padding: 0; background: none; color: inherit; text-align: left; text-decoration: underline dotted; cursor: pointer; }
@media (max-width: 45rem) { .detail { display: none; } }
`;

/**
 * Runs in the browser unchanged. Every value is set as text content, never as markup, since SKUs are data from outside.
 */
const PAGE_SCRIPT = String.raw`
"use strict";
const findElement = (selector) => document.querySelector(selector);
const formatTime = (at) => new Date(at).toLocaleTimeString("en-GB");
const formatNumber = (value) => value.toLocaleString("en", { maximumFractionDigits: 6 });
/** The requests whose body is shown, by id. */
const expandedRequests = new Set();

function createElement(name, text, className) {
  const created = document.createElement(name);
  if (text !== undefined) created.textContent = text;
  if (className) created.className = className;
  return created;
}
const createCell = (text, className) => createElement("td", text, className);

function createRow(...cells) {
  const tr = createElement("tr");
  tr.append(...cells);
  return tr;
}

function createWideRow(content) {
  const td = createElement("td");
  td.colSpan = 9;
  td.append(content);
  return createRow(td);
}

function fillTable(table, rows, none) {
  findElement(table + " tbody").replaceChildren(...(rows.length > 0 ? rows : [createWideRow(createElement("span", none, "none"))]));
}

function showStock(warehouses) {
  fillTable("#stock", warehouses.map((each) => createRow(
    createCell(each.wID), createCell(each.name), createCell(formatNumber(each.items), "number detail"), createCell(formatNumber(each.lots), "number detail"),
    createCell(formatNumber(each.inStock), "number"), createCell(formatNumber(each.onHold), "number detail"), createCell(formatNumber(each.available), "number"),
  )), "No warehouses.");
}

function showRate(rate, intervalMs) {
  const box = findElement("#rate");
  if (rate.length === 0) return box.replaceChildren(createElement("p", intervalMs ? "No requests yet." : "No rate limit.", "none"));
  box.replaceChildren(...rate.map(({ key, used, limit }) => {
    const gauge = createElement("div", undefined, "gauge");
    const label = createElement("span", key + ": " + used + " of " + limit + " in " + intervalMs / 1000 + " s");
    const meter = createElement("meter");
    Object.assign(meter, { min: 0, max: limit, high: limit * 0.9, value: used });
    meter.setAttribute("aria-label", label.textContent);
    gauge.append(label, meter);
    return gauge;
  }));
}

function showTransactions(transactions) {
  fillTable("#transactions", transactions.map((each) => createRow(
    createCell(formatTime(each.at), "detail"), createCell(each.kind), createCell(each.shortID), createCell(formatNumber(each.units), "number"),
    createCell(each.shipToWid === undefined ? each.wid : each.wid + " to " + each.shipToWid), createCell(each.recNo),
  )), "No receipts, moves or issues yet.");
}

function describeStatus({ status, fault }) {
  const text = status === null ? "no response" : String(status);
  if (!fault) return text;
  return text + (fault === "status" ? " (fault rule)" : " (fault rule: " + fault + ")");
}

function createRequestRows(each) {
  const query = new URLSearchParams(each.query).toString();
  const isShown = expandedRequests.has(each.id);
  const toggle = createElement("button", each.path + (query ? "?" + query : ""), "link");
  toggle.type = "button";
  toggle.setAttribute("aria-expanded", isShown);
  toggle.onclick = () => {
    if (!expandedRequests.delete(each.id)) expandedRequests.add(each.id);
    renderPage();
    findElement("[data-request='" + each.id + "'] button").focus();
  };
  const path = createCell();
  path.append(toggle);
  const line = createRow(
    createCell(formatTime(each.at), "detail"), createCell(each.method), path,
    createCell(describeStatus(each), each.status === null || each.status >= 400 ? "failed" : "fine"),
    createCell(each.clientId || "", "detail"), createCell(each.remaining === null ? "" : each.remaining, "number detail"),
  );
  line.dataset.request = each.id;
  if (!isShown) return [line];
  const body = each.body === undefined ? "No body." : typeof each.body === "string" ? each.body : JSON.stringify(each.body, null, 2);
  return [line, createWideRow(createElement("pre", body))];
}

function showFaults(faults) {
  findElement("#faults").replaceChildren(...(faults.length > 0 ? faults : ["No fault rules."]).map((text) => createElement("li", text)));
}

let snapshot;
function renderPage() {
  if (!snapshot) return;
  showStock(snapshot.warehouses);
  showRate(snapshot.rate, snapshot.intervalMs);
  showTransactions(snapshot.transactions);
  fillTable("#requests", snapshot.requests.flatMap(createRequestRows), "No requests yet. Paste the variables above into a terminal, then run a program that uses the client there.");
  showFaults(snapshot.faults);
}

const variables = findElement("#variables");
variables.textContent = [
  "export STOCKLOT_BASE_URL=" + location.origin + variables.dataset.path,
  "export STOCKLOT_CLIENT_ID=" + variables.dataset.id,
  "export STOCKLOT_CLIENT_SECRET=" + variables.dataset.secret,
].join("\n");

/** The header makes a browser ask first, and so refuse, if another site sends this request. */
async function sendAction(path, body) {
  const headers = { "content-type": "application/json", "x-stocklot-page": "1" };
  const response = await fetch(path, { method: "POST", headers, body: JSON.stringify(body ?? {}) });
  findElement("#message").textContent = response.ok ? "" : await response.text();
}
findElement("#copy").onclick = async () => {
  await navigator.clipboard.writeText(variables.textContent);
  findElement("#message").textContent = "Copied.";
};
findElement("#reset").onclick = () => sendAction("/page/reset");
findElement("#clear-faults").onclick = () => sendAction("/page/clear-faults");
findElement("#fault-form").onsubmit = (event) => {
  event.preventDefault();
  const { fault, path, times } = event.target.elements;
  sendAction("/page/add-fault", { fault: Number(fault.value) || fault.value, path: path.value, times: Number(times.value) });
};

const events = new EventSource("/page/events");
events.onopen = () => { findElement("#connection").textContent = "live"; };
events.onerror = () => { findElement("#connection").textContent = "not connected"; };
events.onmessage = ({ data }) => {
  snapshot = JSON.parse(data);
  renderPage();
};
`;
