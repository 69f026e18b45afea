// The rows of the table of instances: columns, order and the choice of rows.
import { cell, useCell } from "../data/cell.js";
import { can, session } from "../data/session.js";
import { groupFor, numberOf } from "../data/states.js";
import { html } from "../html.js";
import { choose, to } from "../router.js";
import { Entry } from "../ui/beside.js";
import { Icon } from "../ui/icon.js";
import { State } from "../ui/parts.js";
import { ago, compare, moment, store, stored, t } from "../words.js";
import { hostOf } from "./deliveries.js";
import { Acts } from "./instance_actions.js";

// columns by name: the width and the content of a cell.
const columns = {
  state: ["minmax(9.5rem, 1fr)", (row) => html`<${State} of=${row.connectionStatus} />`],
  account: [
    "minmax(8.5rem, 1fr)",
    (row) => html`<span class="one-line figures" title=${row.ownerJid}>${numberOf(row.ownerJid) || "–"}</span>`,
  ],
  tags: [
    "minmax(7.5rem, 1.3fr)",
    (row) =>
      row.tags?.length > 0 &&
      html`<span class="one-line tags">${row.tags.map((tag) => html`<${Tag} key=${tag} tag=${tag} />`)}</span>`,
  ],
  received: ["minmax(6rem, 0.7fr)", (row) => html`<${At} at=${row.lastReceivedAt} />`],
  webhook: ["minmax(5rem, 1.1fr)", (row) => html`<${HookCell} row=${row} />`],
  changed: ["minmax(5rem, 0.7fr)", (row) => html`<${At} at=${row.updatedAt} />`],
};

const At = ({ at }) =>
  at ? html`<span class="one-line quiet" title=${moment(at)}>${ago(at)}</span>` : html`<span class="quiet">–</span>`;
export const Tag = ({ tag }) => html`<a class="tag" href=${to(["instances"], { tag })}>${tag}</a>`;

function HookCell({ row }) {
  const hook = row.Webhook,
    failing = row.troubles?.includes("RECEIVER_FAILING");
  if (!hook) return html`<span class="quiet">–</span>`;
  return html`<span class=${"one-line" + (failing ? " state bad" : "")} title=${hook.url}
    >${failing && html`<${Icon} name="bad" />`}${hostOf(hook.url)}${!hook.enabled &&
    html` <span class="quiet">(${t("webhook.off")})</span>`}</span
  >`;
}

// layout is how the table looks in this browser: the columns shown, and high rows.
const usualLook = "state,account,tags,received,webhook";
const read = () => {
  const [names, high] = (stored("columns") || usualLook).split("|");
  return { shown: Object.keys(columns).filter((name) => names.split(",").includes(name)), high: high === "high" };
};
export const layout = cell(read());

function putLayout({ shown, high }) {
  const text = shown.join() + (high ? "|high" : "");
  store("columns", text === usualLook ? "" : text);
  layout.set(read());
}

// layoutItems are the entries of the menu that changes the layout.
export function layoutItems({ shown, high }) {
  const toggled = (name) => Object.keys(columns).filter((one) => shown.includes(one) !== (one === name));
  return [
    ...Object.keys(columns).map((name) => ({
      word: t("column." + name),
      icon: shown.includes(name) ? "check" : "",
      current: shown.includes(name),
      act: () => putLayout({ shown: toggled(name), high }),
    })),
    null,
    { word: t("rows.high"), icon: high ? "check" : "", current: high, act: () => putLayout({ shown, high: !high }) },
  ];
}

// heightOf is the height of a row in rem: 40 pixels, or more for fingers.
export const heightOf = ({ high }) => (high ? 4 : matchMedia("(pointer: coarse)").matches ? 2.75 : 2.5);

// tracks returns the columns of the grid for a wide, a middle and a narrow window.
export function tracks({ shown }) {
  const widths = shown.map((name) => columns[name][0]);
  return {
    "--wide": widths.join(" "),
    "--middle": widths.slice(0, 2).join(" "),
    "--narrow": widths.length ? "minmax(0, 8.75rem)" : "",
  };
}

const urgency = ["bad", "wait", "busy", "off", "good"];
const order = (row) => urgency.indexOf(groupFor(row.connectionStatus));
const latest = (name) => (a, b) => Date.parse(b[name] || 0) - Date.parse(a[name] || 0) || b.id - a.id;

export const orders = {
  name: (a, b) => compare()(a.name, b.name),
  state: (a, b) => order(a) - order(b) || compare()(a.name, b.name),
  received: latest("lastReceivedAt"),
  changed: latest("updatedAt"),
};

// chosen has the names of the chosen rows. What the address does not show is not chosen.
export const chosen = cell(new Set());
session.watch(({ state }) => {
  if (state === "out") chosen.set(new Set());
});

export const choosable = () => ["manage", "pair", "webhook"].some((scope) => can(scope));

const listed = cell([]); // the names in order
let last = null; // the one chosen last

// showing keeps the choice to the rows shown.
export function showing(names) {
  listed.set(names);
  const all = new Set(names),
    kept = [...chosen.value].filter((name) => all.has(name));
  if (kept.length !== chosen.value.size) chosen.set(new Set(kept));
}

// toggle chooses a row or not; with shift all from the one before.
function toggle(name, event) {
  const next = new Set(chosen.value),
    is = event.target.checked;
  const from = event.shiftKey && last !== null ? listed.value.indexOf(last) : -1,
    until = listed.value.indexOf(name);
  const some = from < 0 ? [name] : listed.value.slice(Math.min(from, until), Math.max(from, until) + 1);
  for (const one of some) {
    if (is) next.add(one);
    else next.delete(one);
  }
  last = name;
  chosen.set(next);
}

function All() {
  const { size } = useCell(chosen),
    names = useCell(listed);
  const some = size > 0 && size < names.length;
  return html`<label class="check pick"
    ><input
      type="checkbox"
      checked=${size > 0 && !some}
      indeterminate=${some}
      aria-label=${t("rows.all")}
      onClick=${({ target }) => chosen.set(new Set(target.checked ? names : []))}
  /></label>`;
}

export function Heads({ sort, shown }) {
  return html`<div role="row" class="row-head" aria-rowindex="1">
    ${choosable() && html`<span role="columnheader"><${All} /></span>`}<${Column}
      name="name"
      sort=${sort}
    />${shown.map((name) =>
      orders[name]
        ? html`<${Column} key=${name} name=${name} sort=${sort} />`
        : html`<span role="columnheader" class="col" key=${name}>${t("column." + name)}</span>`,
    )}<span role="columnheader"><span class="unseen">${t("column.actions")}</span></span>
  </div>`;
}

function Column({ name, sort }) {
  const on = sort === name,
    down = name === "received" || name === "changed";
  return html`<span
    role="columnheader"
    class=${name === "name" ? "" : "col"}
    aria-sort=${on ? (down ? "descending" : "ascending") : undefined}
  >
    <button type="button" class=${on ? "on" : ""} onClick=${() => choose({ sort: name === "name" ? "" : name })}>
      ${t("column." + name)}${on && html`<${Icon} name=${down ? "down" : "up"} />`}
    </button></span
  >`;
}

export const drawRow = (row) => html`<${Row} row=${row} />`;

function Row({ row }) {
  const is = useCell(chosen, (names) => names.has(row.name)),
    { shown } = useCell(layout);
  return html`${choosable() &&
    html`<div role="cell" class="cell">
      <label class="check pick"
        ><input
          type="checkbox"
          checked=${is}
          aria-label=${t("rows.one", { name: row.name })}
          onClick=${(event) => toggle(row.name, event)}
      /></label>
    </div>`}
    <div role="cell" class="cell name">
      <${Entry} page="instances" id=${row.name} class="plain one-line" title=${row.name}>${row.name}<//>
      <span class="quiet one-line" title=${row.description}>${row.description}</span>
    </div>
    ${shown.map((name) => html`<div role="cell" class="cell col" key=${name}>${columns[name][1](row)}</div>`)}
    <div role="cell" class="cell act"><${Acts} row=${row} /></div>`;
}
