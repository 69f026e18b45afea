// The list of instances: search, sort and actions.
import { useEffect, useMemo, useState } from "preact/hooks";
import { useCell } from "../data/cell.js";
import { fleet, loadFleet } from "../data/fleet.js";
import { can } from "../data/session.js";
import { groupFor, groups, numberOf } from "../data/states.js";
import { html } from "../html.js";
import { choose, to } from "../router.js";
import { useTitle } from "../ui/float.js";
import { Icon } from "../ui/icon.js";
import { Button, Empty, Loading, State, Trouble } from "../ui/parts.js";
import { Windowed } from "../ui/windowed.js";
import { ago, compare, many, moment, number, t } from "../words.js";
import { Instance } from "./instance.js";
import { hostOf } from "./deliveries.js";
import { Acts, create, takeIn } from "./instance_actions.js";

export function Instances({ parts, query }) {
  const { at, error } = useCell(fleet);
  useEffect(() => { if (!fleet.value.at) loadFleet().catch(() => {}); }, []);
  if (parts[0]) return html`<${Instance} name=${parts[0]} tab=${parts[1] || "state"} key=${parts[0]}/>`;
  if (!at && error) return html`<div class="stack"><${Head} rows=${[]}/><${Trouble} error=${error} again=${loadFleet}/></div>`;
  if (!at) return html`<${Head} rows=${[]}/><${Loading}/>`;
  return html`<${List} query=${query}/>`;
}

function Head({ rows }) {
  useTitle(t("nav.instances"));
  const online = rows.filter((row) => groupFor(row.connectionStatus) === "good").length;
  return html`<div class="page-head"><div><h1 tabindex="-1">${t("nav.instances")}</h1>
    ${rows.length > 0 && html`<p class="lead figures">${many("instances.lead", rows.length, { online: number(online) })}</p>`}</div>
    ${can("manage", "everywhere") && rows.length > 0 && html`<div class="buttons"><${Make}/></div>`}</div>`;
}

// Make offers a new instance and the import of one.
const Make = () => html`<${Button} kind="first" icon="plus" word=${t("create.do")} act=${() => { create(); }}/>${can("operator") && html`<${Button} icon="clip" word=${t("import.do")} act=${() => { takeIn(); }}/>`}`;

const orders = {
  name: (a, b) => compare()(a.name, b.name),
  state: (a, b) => order(a) - order(b) || compare()(a.name, b.name),
  changed: (a, b) => Date.parse(b.updatedAt) - Date.parse(a.updatedAt) || b.id - a.id,
};
const urgency = ["bad", "wait", "busy", "off", "good"];
const order = (row) => urgency.indexOf(groupFor(row.connectionStatus));

// fold removes case and accents for searching.
const fold = (text) => String(text ?? "").normalize("NFD").replace(/\p{M}/gu, "").toLowerCase();
const found = (row, wanted) => [row.name, row.description, row.ownerJid, row.Webhook?.url].some((text) => fold(text).includes(wanted));

function List({ query }) {
  const rows = useCell(fleet, ({ rows }) => rows);
  const wanted = query.get("q") || "", group = query.get("state") || "", trouble = query.get("trouble") || "", sort = orders[query.get("sort")] ? query.get("sort") : "name";
  const counts = useMemo(() => {
    const all = Object.fromEntries(groups.map((one) => [one, 0]));
    for (const row of rows) all[groupFor(row.connectionStatus)]++;
    return all;
  }, [rows]);
  const shown = useMemo(() => {
    const folded = fold(wanted.trim());
    return rows.filter((row) => (!trouble || row.troubles?.includes(trouble)) && (!group || groupFor(row.connectionStatus) === group) && (!folded || found(row, folded))).sort(orders[sort]);
  }, [rows, wanted, group, trouble, sort]);
  if (rows.length === 0) return html`<${Head} rows=${rows}/><${First}/>`;
  return html`<${Head} rows=${rows}/>
    <div class="toolbar">
      <div class="with-icon search"><${Icon} name="search"/><input class="input" type="search" placeholder=${t("instances.search")} aria-label=${t("instances.search")} value=${wanted} onInput=${(event) => choose({ q: event.target.value })}/></div>
      <div class="filters" role="group" aria-label=${t("instances.filter")}>
        ${trouble && html`<${Filter} tone="bad" word=${t("instances.trouble")} n=${shown.length} on act=${() => choose({ trouble: "" })}/>`}
        <${Filter} word=${t("group.all")} n=${rows.length} on=${!group} act=${() => choose({ state: "" })}/>
        ${groups.map((one) => (counts[one] > 0 || one === group) && html`<${Filter} key=${one} tone=${one} word=${t("group." + one)} n=${counts[one]} on=${group === one} act=${() => choose({ state: group === one ? "" : one })}/>`)}
      </div>
    </div>
    <p class="unseen" role="status">${many("instances.found", shown.length)}</p>
    ${shown.length === 0 ? html`<${Empty} icon="search" title=${t("instances.none")} buttons=${html`<${Button} word=${t("instances.all")} act=${() => { choose({ q: "", state: "", trouble: "" }); }}/>`}/>` :
      html`<div class="list"><${Windowed} items=${shown} height=${4} keyOf=${(row) => row.id} label=${t("nav.instances")} draw=${drawRow} head=${html`<div role="row" class="row-head" aria-rowindex="1">
        <${Column} name="name" sort=${sort}/><${Column} name="state" sort=${sort}/><span role="columnheader" class="wide-only">${t("column.account")}</span><span role="columnheader" class="wide-only">${t("column.webhook")}</span><${Column} name="changed" sort=${sort} wide/><span role="columnheader"><span class="unseen">${t("column.actions")}</span></span></div>`}/></div>`}`;
}

function Filter({ word, n, on, act, tone }) {
  return html`<button type="button" class=${"filter " + (tone || "")} aria-pressed=${String(on)} onClick=${act}>${tone && html`<${Icon} name=${tone}/>`}${word}<span class="figures">${number(n)}</span></button>`;
}

function Column({ name, sort, wide }) {
  const on = sort === name;
  return html`<span role="columnheader" class=${wide ? "wide-only" : ""} aria-sort=${on ? (name === "changed" ? "descending" : "ascending") : undefined}>
    <button type="button" class=${on ? "on" : ""} onClick=${() => choose({ sort: name === "name" ? "" : name })}>${t("column." + name)}${on && html`<${Icon} name=${name === "changed" ? "down" : "up"}/>`}</button></span>`;
}

const drawRow = (row) => html`<${Row} row=${row}/>`;

function Row({ row }) {
  const hook = row.Webhook;
  return html`<div role="cell" class="cell name"><a class="plain one-line" href=${to(["instances", row.name])} title=${row.name}>${row.name}</a>
      <span class="quiet one-line" title=${row.description}>${row.description || html`<span class="narrow-only">${numberOf(row.ownerJid)}</span>`}</span></div>
    <div role="cell" class="cell"><${State} of=${row.connectionStatus}/></div>
    <div role="cell" class="cell wide-only figures"><span class="one-line" title=${row.ownerJid}>${numberOf(row.ownerJid) || "–"}</span></div>
    <div role="cell" class="cell wide-only"><span class="one-line" title=${hook?.url}>${hook ? hostOf(hook.url) : html`<span class="quiet">–</span>`}</span>${hook && !hook.enabled && html`<span class="quiet">${t("webhook.off")}</span>`}</div>
    <div role="cell" class="cell wide-only"><span class="one-line quiet" title=${moment(row.updatedAt)}>${ago(row.updatedAt)}</span></div>
    <div role="cell" class="cell act"><${Acts} row=${row}/></div>`;
}

// First is the empty list: what an instance is, how to create one, and the sandbox as the way
// without a phone.
function First() {
  if (!can("manage", "everywhere")) return html`<div class="card"><${Empty} icon="phone" title=${t("first.nothing")}>${t("first.nothingText")}<//></div>`;
  return html`<div class="card"><${Empty} icon="phone" title=${t("first.title")} buttons=${html`<${Make}/>`}>${t("first.text")}<//>
    <div class="aside"><div><h2>${t("first.noPhone")}</h2><p>${t("first.noPhoneText")}</p></div><pre class="code">SANDBOX_ENABLED=true ./bin/postern serve</pre></div></div>`;
}
