import { SCRIPT } from "./script.js";
import { STYLE } from "./style.js";

/** The whole page: no build step, no file beside it, nothing from any other host. */
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
