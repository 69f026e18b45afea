// A chart of figures over time, and the same as a table for screen readers.
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { html } from "../html.js";
import { clock, dayOf, moment, number, span, t } from "../words.js";

// The chart scales with the page: these are sixteenths of a rem.
const height = 200,
  left = 40,
  top = 8,
  right = 12,
  bottom = 24;
const unit = () => parseFloat(getComputedStyle(document.documentElement).fontSize) / 16;

// Chart draws series, each {key, tone, fill, label, values}, over the seconds in xs, which are a
// step apart: a minute or an hour. A value is null where it is unknown; the last step is still
// running, unless the times are ended. The legend shows the total of what is known, or the step
// under the pointer. onPart gets the first and the last second over which a mouse was dragged.
export function Chart({ title, xs, step, series, ended, onPart }) {
  const box = useRef(null);
  const [width, setWidth] = useState(0);
  const [at, setAt] = useState(-1);
  const [from, setFrom] = useState(-1); // where a drag began
  useLayoutEffect(() => {
    const watch = new ResizeObserver(([entry]) => setWidth(Math.floor(entry.contentRect.width / unit())));
    watch.observe(box.current);
    return () => watch.disconnect();
  }, []);
  const last = xs.length - 1,
    pointed = at >= 0 && at <= last;
  const known = xs.filter((_, i) => series.some((one) => one.values[i] !== null)).length;
  const placeOf = ({ offsetX }) =>
    Math.max(0, Math.min(last, Math.round(((offsetX / unit() - left) / (width - left - right)) * last)));
  const drag = (event) => {
    if (!onPart || event.pointerType === "touch" || event.button) return; // a touch scrolls
    event.preventDefault();
    setFrom(placeOf(event));
  };
  const drop = (event) => {
    const ends = [from, placeOf(event)].sort((a, b) => a - b);
    setFrom(-1);
    if (from >= 0 && ends[1] - ends[0] > 1) onPart(ends.map((i) => xs[i]));
  };
  const leave = () => {
    setAt(-1);
    setFrom(-1);
  };
  return html`<figure class="chart">
    <figcaption>
      <h3>
        ${title}${" "}<span class="quiet"
          >${pointed ? timeOf(xs, at, step, ended) : t("charts.total", { span: span(known * step) })}</span
        >
      </h3>
      <ul class="legend">
        ${series.map(
          (one) =>
            html`<li key=${one.key}>
              <span class="line" style=${{ background: `var(--${one.tone})` }}></span>${one.label}<strong
                class="figures"
                >${pointed ? figure(one.values[at]) : totalOf(one.values)}</strong
              >
            </li>`,
        )}
      </ul>
    </figcaption>
    <div class="plot" ref=${box} aria-hidden="true">
      ${width > left + right &&
      last > 0 &&
      html`<svg
        viewBox=${`0 0 ${width} ${height}`}
        onPointerMove=${(event) => setAt(placeOf(event))}
        onPointerDown=${drag}
        onPointerUp=${drop}
        onPointerLeave=${leave}
      >
        <${Drawn}
          xs=${xs}
          step=${step}
          series=${series}
          width=${width}
          at=${pointed ? at : -1}
          from=${from}
          ended=${ended}
        />
      </svg>`}
    </div>
    <details class="as-table">
      <summary>${t("chart.table")}</summary>
      <div class="scrolled" tabindex="0" role="region" aria-label=${title}>
        <table>
          <thead>
            <tr>
              <th scope="col">${t("chart.time")}</th>
              ${series.map((one) => html`<th scope="col" key=${one.key}>${one.label}</th>`)}
            </tr>
          </thead>
          <tbody>
            ${rowsOf(xs).map(
              (i) =>
                html`<tr key=${i}>
                  <th scope="row">${timeOf(xs, i, step, ended)}</th>
                  ${series.map((one) => html`<td class="number" key=${one.key}>${figure(one.values[i])}</td>`)}
                </tr>`,
            )}
          </tbody>
        </table>
      </div>
    </details>
  </figure>`;
}

const figure = (n) => (n === null ? t("unknown") : number(n));

// totalOf returns the sum of the known values, a dash if none is.
function totalOf(values) {
  const known = values.filter((n) => n !== null);
  return known.length ? number(known.reduce((sum, n) => sum + n, 0)) : "–";
}

const timeOf = (xs, i, step, ended) =>
  (step > 60 ? moment(xs[i] * 1000) : clock(xs[i] * 1000, false)) +
  (!ended && i === xs.length - 1 ? " " + t("charts.running") : "");

// runsOf splits values into runs of known ones: [first index, values]. The step to the
// running one is a run of its own.
function runsOf(values, last) {
  const runs = [];
  values.forEach((value, i) => {
    if (value === null) return;
    if (i === last || !i || values[i - 1] === null)
      runs.push(i === last && i && values[i - 1] !== null ? [i - 1, [values[i - 1], value]] : [i, [value]]);
    else runs.at(-1)[1].push(value);
  });
  return runs;
}

// rowsOf returns the latest steps for the table, newest first.
const rowsOf = (xs) =>
  xs
    .map((_, i) => i)
    .reverse()
    .slice(0, 60);

function Drawn({ xs, step: apart, series, width, at, from, ended }) {
  const last = xs.length - 1,
    floor = height - bottom;
  const high = Math.max(4, ...series.map((one) => Math.max(...one.values))) * 1.1;
  const x = (i) => (left + (i / last) * (width - left - right)).toFixed(1),
    y = (value) => (floor - (value / high) * (floor - top)).toFixed(1);
  const line = ([from, values]) =>
    values.map((value, i) => (i ? "L" : "M") + x(from + i) + " " + y(value)).join("") + (values.length > 1 ? "" : "h0");
  const step = stepOf(high / 4);
  const values = Array.from({ length: Math.floor(high / step) + 1 }, (_, i) => i * step);
  return html`${values.map(
    (value) =>
      html`<g key=${"y" + value}
        ><path class="grid" d=${`M${left} ${y(value)}H${width - right}`} /><text
          x=${left - 8}
          y=${y(value)}
          dy="0.35em"
          text-anchor="end"
          >${short(value)}</text
        ></g
      >`,
  )}
  ${timesOf(xs, apart, (width - left - right) / 72).map(
    (i) =>
      html`<text key=${"x" + i} x=${x(i)} y=${height - 4} text-anchor="middle"
        >${apart > 60 ? dayOf(xs[i] * 1000) : clock(xs[i] * 1000, false)}</text
      >`,
  )}
  ${series.map(
    (one) =>
      html`<g key=${one.key} style=${{ stroke: `var(--${one.tone})` }}
        >${runsOf(one.values, ended ? -1 : last).map(
          (run) =>
            html`${one.fill &&
              html`<path
                class="area"
                style=${{ fill: `var(--${one.tone}-tint)` }}
                d=${line(run) + `V${floor}H${x(run[0])}Z`}
              />`}<path class=${!ended && run[0] + run[1].length > last ? "running" : ""} d=${line(run)} />`,
        )}${at >= 0 && one.values[at] !== null && html`<circle cx=${x(at)} cy=${y(one.values[at])} r="3" />`}</g
      >`,
  )}
  ${at >= 0 && html`<path class="grid at" d=${`M${x(at)} ${top}V${floor}`} />`}
  ${at >= 0 && from >= 0 && html`<path class="part" d=${`M${x(from)} ${top}V${floor}H${x(at)}V${top}z`} />`}`;
}

// stepOf returns the smallest 1, 2 or 5 times a power of ten that is not below n.
function stepOf(n) {
  const size = 10 ** Math.floor(Math.log10(Math.max(1, n)));
  return [1, 2, 5, 10].map((one) => one * size).find((one) => one >= n);
}

// timesOf returns the positions of round times, or of the first hours of days, at most most of them.
function timesOf(xs, apart, most) {
  const inner = xs.map((_, i) => i).slice(1, -1);
  if (apart > 60) {
    const days = inner.filter((i) => new Date(xs[i] * 1000).getHours() === 0);
    return days.filter((_, n) => n % Math.ceil(days.length / most) === 0);
  }
  const away = new Date(xs[0] * 1000).getTimezoneOffset() * 60;
  const step = 60 * ([5, 10, 15, 30, 60, 120, 180, 240, 360].find((one) => xs.length / one <= most) || 720);
  return inner.filter((i) => (xs[i] - away) % step === 0);
}

const short = (n) => (n >= 1e6 ? number(n / 1e6, 1) + " M" : n >= 1e4 ? number(n / 1e3) + " k" : number(n));
