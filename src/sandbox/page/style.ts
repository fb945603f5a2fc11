/** The style sheet of the page. */
export const PAGE_STYLE = `
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
