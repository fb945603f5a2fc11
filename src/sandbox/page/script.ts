/** Runs in the browser as it is. Everything shown is set as text, never as markup: SKUs come from outside. */
export const SCRIPT = `
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
    const status = each.status === null ? "no answer" : String(each.status);
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
