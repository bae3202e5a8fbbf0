#include "bench/page/page_assets.h"

namespace lanefold::bench {

std::string_view page_style() {
  return R"css(
:root { color-scheme: light dark; --ink: #1d2330; --quiet: #5b6474; --paper: #ffffff; --shade: #f3f5f8; --line: #dde2e9;
  --good: #0a6b42; --bad: #b3261e; --bad-shade: #fdeceb; --warn: #6b4a00; --warn-shade: #fff4d6; --link: #1f5fae; }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e8ef; --quiet: #a0a9b8; --paper: #14181f; --shade: #1d232c;
  --line: #343c49; --good: #5fd39b; --bad: #ff9188; --bad-shade: #3a1d1c; --warn: #ffd479; --warn-shade: #3a3013;
  --link: #8ab8f5; } }
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body { margin: 0 auto; padding: 1rem; max-width: 76rem; background: var(--paper); color: var(--ink);
  font: 16px/1.5 system-ui, sans-serif; overflow-wrap: break-word; }
h1 { font-size: 1.6rem; line-height: 1.2; margin: 0.5rem 0; }
h2 { font-size: 1.3rem; line-height: 1.3; margin: 2.5rem 0 0.5rem; padding-top: 0.75rem;
  border-top: 2px solid var(--line); }
h3 { font-size: 1.05rem; margin: 1.75rem 0 0.25rem; }
h4 { font-size: 0.95rem; margin: 1rem 0 0.25rem; }
p { margin: 0.5rem 0; max-width: 46rem; }
a { color: var(--link); }
nav ul { display: flex; flex-wrap: wrap; gap: 0.25rem 1rem; padding: 0; margin: 0.5rem 0; list-style: none; }
nav a { display: inline-block; padding: 0.3rem 0; }
code { font: 0.85em/1.4 ui-monospace, monospace; overflow-wrap: anywhere; }
.quiet { color: var(--quiet); }
.note { color: var(--quiet); font-size: 0.875rem; }
.partial, .failed, .fine { padding: 0.6rem 0.9rem; border-radius: 6px; margin: 0.75rem 0; max-width: none; }
.partial { background: var(--warn-shade); color: var(--warn); font-weight: 600; }
.failed { background: var(--bad-shade); }
section > h3:first-child { margin-top: 0; }
.failed h2 { color: var(--bad); border: 0; margin: 0; padding: 0; }
.fine { background: var(--shade); }
.scroll { overflow-x: auto; max-width: 100%; margin: 0.5rem 0; -webkit-overflow-scrolling: touch; }
table { border-collapse: collapse; font-size: 0.875rem; line-height: 1.35; }
th, td { padding: 0.35rem 0.6rem; text-align: left; vertical-align: top; border-bottom: 1px solid var(--line); }
th { font-weight: 600; vertical-align: bottom; }
.n { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
td small { display: block; color: var(--quiet); }
td.wide { min-width: 16rem; }
table.cases td:first-child, table.cases th:first-child { position: sticky; left: 0; background: var(--paper);
  min-width: 8.5rem; max-width: 15rem; border-right: 1px solid var(--line); }
td.good { color: var(--good); font-weight: 600; }
td.bad { color: var(--bad); font-weight: 600; }
td.good small, td.bad small { font-weight: 400; }
details { margin: 0.4rem 0; border: 1px solid var(--line); border-radius: 6px; padding: 0 0.75rem; }
details[open] { padding-bottom: 0.5rem; }
summary { cursor: pointer; padding: 0.45rem 0; overflow-wrap: anywhere; }
dl { display: grid; grid-template-columns: minmax(6rem, max-content) 1fr; gap: 0.2rem 0.9rem; margin: 0.5rem 0;
  font-size: 0.9rem; }
dt { color: var(--quiet); }
dd { margin: 0; overflow-wrap: anywhere; }
figure { margin: 1rem 0; max-width: 56rem; min-width: 0; }
figcaption { font-size: 0.9rem; margin-bottom: 0.35rem; }
figcaption b { display: block; }
.plot { width: 100%; }
.plot svg { display: block; max-width: 100%; }
.grid { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 25rem), 1fr)); gap: 0 1.5rem; }
footer { margin-top: 3rem; border-top: 1px solid var(--line); }
@media (max-width: 44rem) {
  table.cases td:first-child { min-width: 7.5rem; max-width: 40vw; overflow-wrap: anywhere; }
  table.stack, table.stack tbody, table.stack tr, table.stack td { display: block; min-width: 0; }
  table.stack thead { display: none; }
  table.stack tr { padding: 0.4rem 0; border-bottom: 1px solid var(--line); }
  table.stack td { border: 0; padding: 0.1rem 0; overflow-wrap: anywhere; }
  table.stack td::before { content: attr(data-head) ": "; color: var(--quiet); }
}
@media print { .scroll { overflow: visible; } }
)css";
}

std::string_view page_script() {
  return R"js(
(() => {
  "use strict";
  const library = window.lanefoldVega;
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const views = new Map();
  const refuse = () => Promise.reject(new Error("a report loads nothing"));

  const theme = () => {
    const ink = dark.matches ? "#c9d0db" : "#3a4250";
    const line = dark.matches ? "#39414e" : "#dfe3ea";
    return {
      axis: { labelColor: ink, titleColor: ink, gridColor: line, domainColor: line, tickColor: line },
      legend: { labelColor: ink, titleColor: ink },
      text: { color: ink },
    };
  };

  const draw = (figure) => {
    const plot = figure.querySelector(".plot");
    if (views.has(figure)) views.get(figure).finalize();
    try {
      const spec = JSON.parse(figure.querySelector("script").textContent);
      for (const [part, values] of Object.entries(theme())) {
        spec.config[part] = Object.assign({}, spec.config[part], values);
      }
      // As a syntax tree, which the interpreter walks: the page's policy has no eval.
      const flow = library.parse(library.compile(spec).spec, null, { ast: true });
      plot.textContent = "";
      const view = new library.View(flow, {
        expr: library.interpreter, renderer: "svg", container: plot, loader: { load: refuse, sanitize: refuse },
      });
      views.set(figure, view);
      view.runAsync().then(() => { plot.style.minHeight = ""; });
    } catch (error) {
      plot.textContent = "This chart could not be drawn: " + error.message;
    }
  };

  const figures = Array.from(document.querySelectorAll("figure.chart"));
  const drawOnce = (figure) => { if (!views.has(figure)) draw(figure); };
  if ("IntersectionObserver" in window) {
    const seen = new IntersectionObserver((entries) => {
      for (const entry of entries) {
        if (!entry.isIntersecting) continue;
        seen.unobserve(entry.target);
        drawOnce(entry.target);
      }
    }, { rootMargin: "600px" });
    figures.forEach((figure) => seen.observe(figure));
  } else {
    figures.forEach(drawOnce);
  }
  window.addEventListener("beforeprint", () => figures.filter((f) => f.offsetParent !== null).forEach(drawOnce));
  dark.addEventListener("change", () => Array.from(views.keys()).forEach(draw));
})();
)js";
}

}  // namespace lanefold::bench
