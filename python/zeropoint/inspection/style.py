# SPDX-License-Identifier: BSD-3-Clause
"""How a page looks: one column on a phone, wider tables on a desk, light and dark as the reader has it. No file but the page is asked for."""

from __future__ import annotations

STYLE = """
:root { color-scheme: light dark; --page: #f6f7f9; --card: #ffffff; --ink: #1b1f24; --dim: #5b6470; --line: #d9dee4;
  --accent: #2b5fb8; --area: #b9cdf0; --s0: #8a94a0; --s1: #1f8a4c; --s2: #7aa51c; --s3: #d9a400; --s4: #e07020; --s5: #cc2b38; }
@media (prefers-color-scheme: dark) { :root { --page: #14171b; --card: #1d2127; --ink: #e7eaee; --dim: #9aa5b1; --line: #343b44;
  --accent: #7fb0ff; --area: #31496f; --s0: #7d8894; --s1: #3fbf74; --s2: #a5cf3f; --s3: #f0c02f; --s4: #ff9147; --s5: #ff6470; } }
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; scroll-behavior: smooth; }
body { margin: 0; background: var(--page); color: var(--ink); font: 16px/1.45 system-ui, -apple-system, "Segoe UI", sans-serif; }
main { max-width: 1120px; margin: 0 auto; padding: 16px; }
h1 { font-size: 1.5rem; margin: 8px 0 2px; overflow-wrap: anywhere; }
h2 { font-size: 1.15rem; margin: 28px 0 10px; }
p { margin: 6px 0; }
.dim, small { color: var(--dim); font-size: 0.875rem; }
.card { background: var(--card); border: 1px solid var(--line); border-radius: 10px; padding: 12px 14px; }
.figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(140px, 1fr)); gap: 10px; margin-top: 12px; }
.figures b { display: block; font-size: 1.35rem; font-variant-numeric: tabular-nums; overflow-wrap: anywhere; line-height: 1.25; }
.figures span { color: var(--dim); font-size: 0.875rem; }
ol.advice { list-style: none; padding: 0; margin: 0; display: grid; gap: 10px; }
ol.advice li { border-left: 5px solid var(--dim); overflow-wrap: anywhere; }
ol.advice li.s1 { border-left-color: var(--s1); } ol.advice li.s2 { border-left-color: var(--s2); }
ol.advice li.s3 { border-left-color: var(--s3); } ol.advice li.s4 { border-left-color: var(--s4); }
ol.advice li.s5 { border-left-color: var(--s5); }
ol.advice p:last-child { font-weight: 600; }
.legend { display: flex; flex-wrap: wrap; gap: 4px 14px; margin: 0 0 10px; padding: 0; list-style: none; }
.legend i, .key i { display: inline-block; width: 12px; height: 12px; border-radius: 6px; margin-right: 6px; background: var(--c); }
.network { position: relative; overflow: hidden; padding: 6px 10px 6px 6px; }
.network svg { position: absolute; left: 6px; top: 6px; }
.network ol { list-style: none; margin: 0; padding: 0; }
.network li { height: 36px; display: flex; align-items: center; gap: 10px; min-width: 0; }
.network a, .network span.name { flex: 1; min-width: 0; white-space: nowrap; overflow: hidden; text-overflow: ellipsis; color: inherit;
  text-decoration: none; line-height: 36px; }
.network a:hover b, .network a:focus b { text-decoration: underline; }
.network .dim { margin-left: 8px; }
.network .extents { display: none; }
svg.graph path { fill: none; stroke: var(--dim); stroke-width: 1.5; }
svg.graph circle { fill: var(--page); stroke: var(--dim); stroke-width: 1.5; }
svg.graph circle.s1, .c-s1 { --c: var(--s1); } svg.graph circle.s2, .c-s2 { --c: var(--s2); } svg.graph circle.s3, .c-s3 { --c: var(--s3); }
svg.graph circle.s4, .c-s4 { --c: var(--s4); } svg.graph circle.s5, .c-s5 { --c: var(--s5); } svg.graph circle.s0, .c-s0 { --c: var(--s0); }
svg.graph circle[class^=s] { fill: var(--c); stroke: none; }
.pill { flex: none; border-radius: 9px; padding: 1px 8px; font-size: 0.875rem; font-variant-numeric: tabular-nums; white-space: nowrap;
  color: var(--ink); border: 2px solid var(--c); }
.scroll { overflow-x: auto; padding: 0; }
table { border-collapse: collapse; width: 100%; font-size: 0.9375rem; font-variant-numeric: tabular-nums; }
th, td { padding: 6px 10px; text-align: right; white-space: nowrap; border-bottom: 1px solid var(--line); }
tr:last-child td { border-bottom: 0; }
th:first-child, td:first-child { text-align: left; position: sticky; left: 0; background: var(--card); max-width: 36vw; overflow: hidden;
  text-overflow: ellipsis; }
th { font-weight: 600; color: var(--dim); font-size: 0.875rem; }
th button { all: unset; cursor: pointer; } th button:focus-visible { outline: 2px solid var(--accent); }
th[aria-sort] { color: var(--ink); }
td a { color: inherit; }
.bar { display: inline-block; height: 10px; border-radius: 3px; background: var(--c); vertical-align: middle; }
.layers { display: grid; gap: 10px; grid-template-columns: minmax(0, 1fr); }
details > summary { cursor: pointer; display: flex; align-items: center; gap: 10px; min-height: 28px; list-style-position: inside; }
details > summary b { overflow-wrap: anywhere; flex: 1; min-width: 0; }
details > summary::-webkit-details-marker { display: none; }
details > summary::before { content: "▸"; color: var(--dim); } details[open] > summary::before { content: "▾"; }
.parts { display: grid; gap: 18px; grid-template-columns: minmax(0, 1fr); margin-top: 8px; }
dl { display: grid; grid-template-columns: repeat(auto-fill, minmax(128px, 1fr)); gap: 6px 14px; margin: 10px 0 0; }
dt { color: var(--dim); font-size: 0.875rem; } dd { margin: 0; font-variant-numeric: tabular-nums; overflow-wrap: anywhere; }
svg.histogram, svg.channels { display: block; width: 100%; height: 96px; border-bottom: 1px solid var(--line); }
.area { fill: var(--area); } .line { fill: none; stroke: var(--accent); stroke-width: 1.5; vector-effect: non-scaling-stroke; }
.end { fill: none; stroke: var(--s4); stroke-width: 1.5; stroke-dasharray: 4 3; vector-effect: non-scaling-stroke; }
.zero { fill: none; stroke: var(--dim); stroke-width: 1; vector-effect: non-scaling-stroke; }
.bars { fill: none; stroke: var(--accent); }
.axis { display: flex; justify-content: space-between; position: relative; color: var(--dim); font-size: 0.875rem; }
.axis span[style] { position: absolute; transform: translateX(-50%); }
.key { display: flex; flex-wrap: wrap; gap: 2px 14px; color: var(--dim); font-size: 0.875rem; }
@media (min-width: 760px) { .network .extents { display: inline; } .parts { grid-template-columns: minmax(0, 1fr) minmax(0, 1fr); }
  th:first-child, td:first-child { max-width: 300px; } }
@media print { details:not([open]) > *:not(summary) { display: block; } }
"""

# Columns are sorted where their heads are pressed; links to a layer open it.
SCRIPT = """
document.querySelectorAll("th button").forEach(button => button.addEventListener("click", () => {
  const head = button.parentElement, table = head.closest("table"), column = [...head.parentElement.children].indexOf(head);
  const down = head.getAttribute("aria-sort") === "ascending", key = row => row.children[column].dataset.value;
  table.querySelectorAll("th").forEach(other => other.removeAttribute("aria-sort"));
  head.setAttribute("aria-sort", down ? "descending" : "ascending");
  const rows = [...table.tBodies[0].rows].sort((a, b) => {
    const x = key(a), y = key(b), order = isNaN(x) || isNaN(y) ? x.localeCompare(y) : x - y;
    return down ? -order : order;
  });
  table.tBodies[0].append(...rows);
}));
const open_target = () => {
  const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (target && target.tagName === "DETAILS") target.open = true;
};
addEventListener("hashchange", open_target);
open_target();
document.documentElement.dataset.ready = "yes";
"""
