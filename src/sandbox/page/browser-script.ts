/**
 * Runs in the browser unchanged. Every value is set as text content, never as markup, since SKUs are data from outside.
 */
export const PAGE_SCRIPT = String.raw`
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
