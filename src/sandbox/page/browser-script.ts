/** Runs in the browser as it is. Every value is set as text content, never as markup, since SKUs come from outside. */
export const PAGE_SCRIPT = String.raw`
"use strict";
const find = (selector) => document.querySelector(selector);
const time = (at) => new Date(at).toLocaleTimeString("en-GB");
const number = (value) => value.toLocaleString("en", { maximumFractionDigits: 6 });
/** The requests whose body is shown, by id. */
const expanded = new Set();

function element(name, text, className) {
  const created = document.createElement(name);
  if (text !== undefined) created.textContent = text;
  if (className) created.className = className;
  return created;
}
const cell = (text, className) => element("td", text, className);

function row(...cells) {
  const tr = element("tr");
  tr.append(...cells);
  return tr;
}

function wideRow(content) {
  const td = element("td");
  td.colSpan = 9;
  td.append(content);
  return row(td);
}

function fill(table, rows, none) {
  find(table + " tbody").replaceChildren(...(rows.length > 0 ? rows : [wideRow(element("span", none, "none"))]));
}

function showStock(warehouses) {
  fill("#stock", warehouses.map((each) => row(
    cell(each.wID), cell(each.name), cell(number(each.items), "number detail"), cell(number(each.lots), "number detail"),
    cell(number(each.inStock), "number"), cell(number(each.onHold), "number detail"), cell(number(each.available), "number"),
  )), "No warehouses.");
}

function showRate(rate, intervalMs) {
  const box = find("#rate");
  if (rate.length === 0) return box.replaceChildren(element("p", intervalMs ? "No requests yet." : "No rate limit.", "none"));
  box.replaceChildren(...rate.map(({ key, used, limit }) => {
    const gauge = element("div", undefined, "gauge");
    const label = element("span", key + ": " + used + " of " + limit + " in " + intervalMs / 1000 + " s");
    const meter = element("meter");
    Object.assign(meter, { min: 0, max: limit, high: limit * 0.9, value: used });
    meter.setAttribute("aria-label", label.textContent);
    gauge.append(label, meter);
    return gauge;
  }));
}

function showTransactions(transactions) {
  fill("#transactions", transactions.map((each) => row(
    cell(time(each.at), "detail"), cell(each.kind), cell(each.shortID), cell(number(each.units), "number"),
    cell(each.shipToWid === undefined ? each.wid : each.wid + " to " + each.shipToWid), cell(each.recNo),
  )), "No receipts, moves or issues yet.");
}

function statusOf({ status, fault }) {
  const text = status === null ? "no response" : String(status);
  if (!fault) return text;
  return text + (fault === "status" ? " (fault rule)" : " (fault rule: " + fault + ")");
}

function requestRows(each) {
  const query = new URLSearchParams(each.query).toString();
  const isShown = expanded.has(each.id);
  const toggle = element("button", each.path + (query ? "?" + query : ""), "link");
  toggle.type = "button";
  toggle.setAttribute("aria-expanded", isShown);
  toggle.onclick = () => {
    if (!expanded.delete(each.id)) expanded.add(each.id);
    render();
    find("[data-request='" + each.id + "'] button").focus();
  };
  const path = cell();
  path.append(toggle);
  const line = row(
    cell(time(each.at), "detail"), cell(each.method), path,
    cell(statusOf(each), each.status === null || each.status >= 400 ? "failed" : "fine"),
    cell(each.clientId || "", "detail"), cell(each.remaining === null ? "" : each.remaining, "number detail"),
  );
  line.dataset.request = each.id;
  if (!isShown) return [line];
  const body = each.body === undefined ? "No body." : typeof each.body === "string" ? each.body : JSON.stringify(each.body, null, 2);
  return [line, wideRow(element("pre", body))];
}

function showFaults(faults) {
  find("#faults").replaceChildren(...(faults.length > 0 ? faults : ["No fault rules."]).map((text) => element("li", text)));
}

let shown;
function render() {
  if (!shown) return;
  showStock(shown.warehouses);
  showRate(shown.rate, shown.intervalMs);
  showTransactions(shown.transactions);
  fill("#requests", shown.requests.flatMap(requestRows), "No requests yet. Paste the variables above into a terminal, then run a program that uses the client.");
  showFaults(shown.faults);
}

const variables = find("#variables");
variables.textContent = [
  "export STOCKLOT_BASE_URL=" + location.origin + variables.dataset.path,
  "export STOCKLOT_CLIENT_ID=" + variables.dataset.id,
  "export STOCKLOT_CLIENT_SECRET=" + variables.dataset.secret,
].join("\n");

/** The header makes a browser ask first, and so refuse, if another site sends this request. */
async function act(path, body) {
  const headers = { "content-type": "application/json", "x-stocklot-page": "1" };
  const response = await fetch(path, { method: "POST", headers, body: JSON.stringify(body ?? {}) });
  find("#message").textContent = response.ok ? "" : await response.text();
}
find("#copy").onclick = async () => {
  await navigator.clipboard.writeText(variables.textContent);
  find("#message").textContent = "Copied.";
};
find("#reset").onclick = () => act("/page/reset");
find("#clear-faults").onclick = () => act("/page/clear-faults");
find("#fault-form").onsubmit = (event) => {
  event.preventDefault();
  const { fault, path, times } = event.target.elements;
  act("/page/add-fault", { fault: Number(fault.value) || fault.value, path: path.value, times: Number(times.value) });
};

const events = new EventSource("/page/events");
events.onopen = () => { find("#connection").textContent = "live"; };
events.onerror = () => { find("#connection").textContent = "not connected"; };
events.onmessage = ({ data }) => {
  shown = JSON.parse(data);
  render();
};
`;
