export const STYLE = `
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
