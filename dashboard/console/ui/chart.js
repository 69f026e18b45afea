// A chart of figures over time, and the same as a table for who does not look.
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { useCell } from "../data/cell.js";
import { html } from "../html.js";
import { theme } from "../theme.js";
import { clock, number, t } from "../words.js";

let loading = null;

// uPlot is loaded by the first chart.
const load = () => loading ??= new Promise((done, fail) => {
  const style = Object.assign(document.createElement("link"), { rel: "stylesheet", href: "dashboard/vendored/uplot/uPlot.min.css" });
  const script = Object.assign(document.createElement("script"), { src: "dashboard/vendored/uplot/uPlot.iife.min.js" });
  script.addEventListener("load", () => done(window.uPlot));
  script.addEventListener("error", () => { loading = null; fail(new Error(script.src)); });
  document.head.append(style, script);
});

// colour resolves a token as the browser shows it now.
function colour(token) {
  const probe = document.createElement("span");
  probe.style.color = `var(--${token})`;
  document.body.append(probe);
  const shown = getComputedStyle(probe).color;
  probe.remove();
  return shown;
}

// It grows with the page, whose measure is the rem.
const rem = () => parseFloat(getComputedStyle(document.documentElement).fontSize);
const height = () => Math.round(12.5 * rem());

// Chart draws series, each {key, tone, fill}, over the seconds in xs.
export function Chart({ title, xs, series, label }) {
  const box = useRef(null), plot = useRef(null);
  const chosen = useCell(theme);
  const data = [xs, ...series.map((one) => one.values)];
  const latest = useRef(data);
  latest.current = data;
  const shape = series.map((one) => one.key).join() + label;
  useLayoutEffect(() => {
    let over = false;
    const draw = async () => {
      const Plot = await load().catch(() => null);
      if (over || !Plot || !box.current) return;
      plot.current?.destroy();
      plot.current = new Plot(options(box.current.clientWidth, series), latest.current, box.current);
    };
    draw();
    const dark = matchMedia("(prefers-color-scheme: dark)");
    dark.addEventListener("change", draw);
    const watch = new ResizeObserver(([entry]) => plot.current?.setSize({ width: Math.floor(entry.contentRect.width), height: height() }));
    watch.observe(box.current);
    return () => {
      over = true;
      dark.removeEventListener("change", draw);
      watch.disconnect();
      plot.current?.destroy();
      plot.current = null;
    };
  }, [shape, chosen]);
  useEffect(() => { plot.current?.setData(latest.current); }, [xs]);
  const last = xs.length - 1;
  return html`<figure class="chart"><figcaption><h3>${title}</h3><ul class="legend">${series.map((one) => html`<li key=${one.key}><span class="line" style=${{ background: `var(--${one.tone})` }}></span>${one.label}<strong class="figures">${last >= 0 ? number(one.values[last] ?? 0) : "–"}</strong></li>`)}</ul></figcaption>
    <div class="plot" ref=${box} aria-hidden="true"></div>
    <details class="as-table"><summary>${t("chart.table")}</summary><div class="scrolled" tabindex="0" role="region" aria-label=${title}><table><thead><tr><th scope="col">${t("chart.time")}</th>${series.map((one) => html`<th scope="col" key=${one.key}>${one.label}</th>`)}</tr></thead>
      <tbody>${rowsOf(xs).map((i) => html`<tr key=${i}><th scope="row">${clock(xs[i] * 1000, false)}</th>${series.map((one) => html`<td class="number" key=${one.key}>${number(one.values[i] ?? 0)}</td>`)}</tr>`)}</tbody></table></div></details></figure>`;
}

// rowsOf are the newest minutes, the newest first: a table is for reading.
const rowsOf = (xs) => xs.map((_, i) => i).reverse().slice(0, 60);

function options(width, series) {
  const ink = colour("ink-3"), line = colour("line");
  const one = rem() / 16, font = 12 * one + "px " + getComputedStyle(document.body).fontFamily;
  const axis = { stroke: ink, font, ticks: { show: false }, grid: { stroke: line, width: 1 } };
  return {
    width: Math.floor(width), height: height(), padding: [8 * one, 20 * one, 0, 0],
    legend: { show: false },
    cursor: { points: { size: 7 }, drag: { x: false, y: false }, y: false },
    scales: { x: { time: true }, y: { range: (_, low, high) => [0, Math.max(4, high * 1.1)] } },
    axes: [
      { ...axis, grid: { show: false }, space: 64 * one, values: (_, ticks) => ticks.map((tick) => clock(tick * 1000, false)), size: 28 * one },
      { ...axis, size: 44 * one, space: 44 * one, values: (_, ticks) => ticks.map((tick) => Number.isInteger(tick) ? short(tick) : "") },
    ],
    series: [{}, ...series.map(({ tone, fill }) => ({ stroke: colour(tone), width: 1.75 * one, points: { show: false }, ...(fill && { fill: colour(tone + "-tint") }) }))],
  };
}

const short = (n) => n >= 1e6 ? number(n / 1e6, 1) + " M" : n >= 1e4 ? number(n / 1e3) + " k" : number(n);
