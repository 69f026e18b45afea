// The state of an instance with its reason and time, restrictions by WhatsApp, usage of its
// limits, and its figures.
import { useEffect } from "preact/hooks";
import { instancePath } from "../data/api.js";
import { useLoaded } from "../data/loaded.js";
import { can } from "../data/session.js";
import { groupFor, numberOf, stateOf } from "../data/states.js";
import { html } from "../html.js";
import { to } from "../router.js";
import { Meter, Notice, Said, State, Trouble } from "../ui/parts.js";
import { ago, clock, has, moment, number, t } from "../words.js";

export function Now({ row }) {
  const status = useLoaded(instancePath(row.name) + "/connection/status");
  useEffect(() => { if (status.value) status.load(); }, [row.connectionStatus, row.updatedAt]);
  const is = status.value;
  return html`<div class="stack"><${Trouble} error=${status.error} again=${status.load}/>
    <${What} row=${row} is=${is}/>${is?.restriction && html`<${Held} it=${is.restriction}/>`}
    <div class="pair"><${Connection} row=${row} is=${is} failed=${status.error}/><${Used} row=${row} is=${is} failed=${status.error}/></div>
    ${can("operator") && html`<${Figures} name=${row.name}/>`}</div>`;
}

// What to do about a state, if anything.
function What({ row, is }) {
  const state = stateOf(row.connectionStatus), group = groupFor(state);
  const key = "do." + state;
  if (group === "good" || !has(key)) return null;
  return html`<${Notice} tone=${group} title=${t(key + ".title")}>${t(key)}<${Said} text=${is?.lastError}/><//>`;
}

function Held({ it }) {
  const key = "held." + it.kind;
  return html`<${Notice} tone="busy" icon="held" title=${it.until ? t("held.until", { time: moment(it.until) }) : t("held.title")}>${has(key) ? t(key) : it.kind} ${t("held.since", { time: moment(it.since) })} ${t("held." + it.source)}<${Said} text=${it.reason}/><//>`;
}

function Connection({ row, is, failed }) {
  const at = (name) => !is && failed ? t("unknown") : html`<${Time} at=${is?.[name]}/>`;
  return html`<section class="card"><header><h2>${t("connection.title")}</h2></header><dl class="facts">
    <dt>${t("column.state")}</dt><dd><${State} of=${row.connectionStatus}/></dd>
    <dt>${t("connection.since")}</dt><dd><${Time} at=${row.updatedAt}/></dd>
    <dt>${t("column.account")}</dt><dd class="figures">${numberOf(row.ownerJid) || html`<span class="quiet">${t("connection.noAccount")}</span>`}</dd>
    <dt>${t("connection.connected")}</dt><dd>${at("lastConnectedAt")}</dd>
    <dt>${t("connection.received")}</dt><dd>${at("lastReceivedAt")}</dd>
    <dt>${t("connection.sent")}</dt><dd>${at("lastSentAt")}</dd>
    ${!!is?.statusReason && html`<dt>${t("connection.reason")}</dt><dd class="mono">${is.statusReason}</dd>`}
    ${is?.lastError && html`<dt>${t("connection.error")}</dt><dd>${is.lastError}</dd>`}
    ${Object.keys(row.externalAttributes || {}).length > 0 && html`<dt>${t("create.attributes")}</dt><dd class="mono">${JSON.stringify(row.externalAttributes)}</dd>`}
    <dt>${t("connection.created")}</dt><dd><${Time} at=${row.createdAt}/></dd></dl></section>`;
}

export function Time({ at }) {
  if (!at) return html`<span class="quiet">–</span>`;
  return html`<time datetime=${at} title=${moment(at)}>${ago(at)}</time>`;
}

const limited = ["perMinute", "perHour", "perDay", "newContactsPerDay"];

function Used({ row, is, failed }) {
  const limits = is?.limits;
  const set = limited.filter((name) => limits?.[name]);
  return html`<section class="card"><header><h2>${t("limits.title")}</h2>${can("manage") && html`<a href=${to(["instances", row.name, "limits"])}>${t("limits.change")}</a>`}</header>
    ${limits?.quietUntil && html`<p class="state wait">${t("limits.quiet", { time: clock(limits.quietUntil, false) })}</p>`}
    ${set.length === 0 ? html`<p class="quiet">${t(is ? "limits.none" : failed ? "unknown" : "loading")}</p>` : html`<div class="stack tight">${set.map((name) => {
      const { limit, used, resetsAt } = limits[name];
      return html`<div key=${name}><p class="between figures"><span>${t("limits." + name)}</span><span><strong>${number(used)}</strong> ${t("of", { n: number(limit) })}</span></p><${Meter} used=${used} of=${limit} label=${t("limits." + name)}/>
        ${used >= limit && resetsAt && html`<p class="quiet">${t("limits.resets", { time: clock(resetsAt, false) })}</p>`}</div>`;
    })}</div>`}</section>`;
}

const figures = [
  ["postern_instance_received_total", "figure.received"], ["postern_instance_sent_total", "figure.sent"],
  ["postern_instance_undecryptable_total", "figure.undecryptable"], ["postern_instance_webhook_failures_total", "figure.failures"],
];

// Figures needs metrics.per_instance.
function Figures({ name }) {
  const { value, error } = useLoaded("/metrics", { as: "text", none: "" });
  const found = value && figures.map(([metric, key]) => [key, metricOf(value, metric, name)]).filter(([, n]) => n !== null);
  if (!found?.length && (value !== undefined || !error)) return null;
  return html`<section class="card"><header><h2>${t("figures.title")}</h2><p>${t("figures.since")}</p></header>${found?.length > 0 ? html`<dl class="tiles">${found.map(([key, n]) => html`<div key=${key}><dt>${t(key)}</dt><dd class="figures">${number(n)}</dd></div>`)}</dl>` : html`<p class="quiet">${t("unknown")}</p>`}</section>`;
}

export function metricOf(text, metric, name) {
  const start = metric + (name === undefined ? " " : `{name="${name}"} `);
  const line = text.split("\n").find((one) => one.startsWith(start));
  return line ? Number(line.slice(start.length)) : null;
}
