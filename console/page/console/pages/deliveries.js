// The list of webhook deliveries: search, read and replay.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { instancePath } from "../data/api.js";
import { useCell } from "../data/cell.js";
import { events } from "../data/events.js";
import { fleet, loadFleet } from "../data/fleet.js";
import { onLive } from "../data/live.js";
import { can, session } from "../data/session.js";
import { html } from "../html.js";
import { choose, place } from "../router.js";
import { Beside, Entry, useRoom } from "../ui/beside.js";
import { open, useTitle } from "../ui/float.js";
import { Icon } from "../ui/icon.js";
import { Button, Empty, Loading, Search, Select, Text, Trouble } from "../ui/parts.js";
import { Crumb, Mark, More, When, useRows, useSoon } from "../ui/sheet.js";
import { Windowed } from "../ui/windowed.js";
import { ago, compare, many, moment, number, t } from "../words.js";
import { Delivery, OneDelivery } from "./deliveries_one.js";
import { Progress, Replay } from "./deliveries_replay.js";
import { Receivers } from "./receivers.js";

const tones = { PENDING: "busy", DELIVERED: "good", FAILED: "bad", DROPPED: "bad", EXPIRED: "bad", CANCELLED: "off" };
export const states = Object.keys(tones);
const wordOf = (state, tries) =>
  tones[state]
    ? t(
        state === "PENDING" && tries !== undefined
          ? tries
            ? "delivery.retrying"
            : "delivery.waits"
          : "delivery." + state,
      )
    : state;
// Outcome is the state of a delivery; one that waits with tries made is being retried.
export const Outcome = ({ of, tries, pill }) =>
  html`<${Mark} tone=${tones[of] || "off"} word=${wordOf(of, tries)} pill=${pill} />`;
// Ahead says which attempt is the next, and when.
export const Ahead = ({ row }) =>
  row.state === "PENDING" &&
  row.attemptCount > 0 &&
  html`<span class="quiet figures"
    >${t(row.nextAttemptAt ? "delivery.ahead" : "delivery.attempt", {
      n: number(row.attemptCount + 1),
      when: row.nextAttemptAt && ago(row.nextAttemptAt),
    })}</span
  >`;
export const targets = () => [
  ["", t("group.all")],
  ["webhook", t("webhook.title")],
  ["endpoint", t("delivery.endpoint")],
  ["global", t("delivery.global")],
];

// pathOf returns the path of the deliveries of an instance, or of all.
export const pathOf = (instance) => (instance ? instancePath(instance) : "") + "/webhook/deliveries";

// whose are the selectable instances; everywhere: all together too.
function useWhose() {
  const { operator, key } = useCell(session);
  const names = useCell(fleet, ({ rows }) => rows);
  const reads = can("read");
  useEffect(() => {
    if (reads && !fleet.value.at) loadFleet().catch(() => {});
  }, []);
  const everywhere = !!(operator || key?.instances.includes("*"));
  return {
    everywhere,
    names: (reads ? names.map((row) => row.name) : key.instances.filter((one) => one !== "*")).sort(compare()),
  };
}

const fields = ["event", "target", "endpointId", "from", "to", "minDurationMs"];

export function Deliveries({ parts, query }) {
  const { everywhere, names } = useWhose();
  const instance = query.get("instance") || (everywhere ? "" : session.value.key.instances[0] || "");
  const show = query.get("show"),
    room = useRoom();
  const id = parts[0] || (!room && show),
    path = pathOf(instance);
  if (id) return html`<${OneDelivery} path=${path} id=${id} query=${query} key=${id} />`;
  return html`<${Beside}
    entry=${show && html`<${Delivery} path=${path} id=${show} query=${query} key=${show} beside />`}
    title=${t("delivery.one", { id: show })}
    page="deliveries"
    id=${show}
    query=${Object.fromEntries(query)}
    ><${Records} query=${query} instance=${instance} names=${names} everywhere=${everywhere}
  /><//>`;
}

function Records({ query, instance, names, everywhere }) {
  useTitle(t("nav.deliveries"));
  const chosen = Object.fromEntries(fields.map((name) => [name, query.get(name) || ""]));
  const state = (query.get("state") || "").split(",").filter((one) => tones[one]);
  const asked = useSoon({ ...chosen, state, query: (query.get("q") || "").trim() });
  const rows = useRows(pathOf(instance), asked);
  /** @type {any} */
  const [fresh, show] = useFresh(rows, instance, asked);
  const narrowed = state.length || query.get("q") || fields.some((name) => chosen[name]);
  const further = fields.filter((name) => chosen[name]).length + (everywhere && instance ? 1 : 0);
  const all = () => {
    choose(Object.fromEntries(["q", "state", "instance", ...fields].map((name) => [name, ""])));
  };
  const head = useMemo(
    () =>
      html`<div role="row" class="row-head" aria-rowindex="1">
        ${[t("column.state"), t("try.event"), t("delivery.to"), t("delivery.answer"), t("delivery.made")].map(
          (word, i) =>
            html`<span role="columnheader" key=${i} class=${i > 1 && i < 4 ? "wide-only" : ""}>${word}</span>`,
        )}
      </div>`,
    [t("column.state")],
  );
  const { value } = rows;
  return html`<div class="page-head">
      <div>
        <${Crumb} instance=${query.get("instance")} />
        <h1 tabindex="-1">${t("nav.deliveries")}</h1>
        <p class="lead figures">${value ? many("delivery.lead", value.totalRecords) : " "}</p>
      </div>
      <div class="buttons">
        <${Button}
          icon="restart"
          word=${t("replay.do")}
          act=${() => {
            open(() => html`<${Replay} instance=${instance} chosen=${{ ...chosen, state }} />`);
          }}
        />
      </div>
    </div>
    <${Receivers} of=${instance} origin=${query.get("origin") || ""} />
    ${query.get("replay") &&
    html`<${Progress} path=${pathOf(instance)} id=${query.get("replay")} key=${query.get("replay")} />`}
    <div class="toolbar">
      <${Search}
        word=${t("delivery.search")}
        value=${query.get("q") || ""}
        on=${(text) => choose({ q: text })}
        wide
        maxlength="255"
      />
      <div class="filters" role="group" aria-label=${t("instances.filter")}>
        ${states.map(
          (one) =>
            html`<button
              type="button"
              key=${one}
              class=${"filter " + tones[one]}
              aria-pressed=${String(state.includes(one))}
              onClick=${() =>
                choose({
                  state: (state.includes(one) ? state.filter((other) => other !== one) : [...state, one]).join(),
                })}
            >
              <${Icon} name=${tones[one]} />${t("delivery." + one)}
            </button>`,
        )}
      </div>
    </div>
    <details class="further" open=${further > 0}>
      <summary>
        ${t("delivery.further")}${further > 0 && html` <span class="figures">(${number(further)})</span>`}
      </summary>
      <div class="form">
        <div class="row">
          <${Select}
            label=${t("delivery.instance")}
            value=${instance}
            on=${(name) => choose({ instance: name })}
            options=${[
              ...(everywhere ? [["", t("group.all")]] : []),
              ...[...new Set([...names, instance])].filter(Boolean).map((name) => [name, name]),
            ]}
          />
          <${Select}
            label=${t("try.event")}
            value=${chosen.event}
            on=${(event) => choose({ event })}
            options=${eventsOf(chosen.event)}
          />
          <${Select}
            label=${t("delivery.to")}
            value=${chosen.target}
            on=${(target) => choose({ target, endpointId: "" })}
            options=${targets().filter(([name]) => name !== "global" || !instance)}
          />
          ${chosen.target === "endpoint" &&
          html`<${Text}
            label=${t("endpoints.id")}
            value=${chosen.endpointId}
            on=${(endpointId) => choose({ endpointId })}
            maxlength="64"
          />`}
          <${When} label=${t("limits.from")} value=${chosen.from} on=${(from) => choose({ from })} /><${When}
            label=${t("limits.to")}
            value=${chosen.to}
            on=${(until) => choose({ to: until })}
          />
          <${Text}
            label=${t("delivery.took")}
            type="number"
            min="0"
            max="86400000"
            value=${chosen.minDurationMs}
            on=${(minDurationMs) => choose({ minDurationMs })}
          />
        </div>
      </div>
    </details>
    ${fresh &&
    html`<div class="buttons middle">
      <${Button}
        kind="small"
        icon="up"
        word=${t("delivery.fresh")}
        act=${() => {
          scrollTo(0, 0);
          return show();
        }}
      />
    </div>`}
    <${Trouble} error=${rows.error} again=${rows.load} />
    ${!value
      ? !rows.error && html`<${Loading} />`
      : value.records.length === 0
        ? narrowed
          ? html`<${Empty}
              icon="search"
              title=${t("instances.none")}
              buttons=${html`<${Button} word=${t("instances.all")} act=${all} />`}
            />`
          : html`<div class="card">
              <${Empty} icon="deliveries" title=${t("delivery.none")}>${t("delivery.noneText")}<//>
            </div>`
        : html`<div class="sheet deliveries">
              <${Windowed}
                items=${value.records}
                height=${4}
                keyOf=${(row) => row.id}
                label=${t("nav.deliveries")}
                draw=${drawDelivery}
                head=${head}
              />
            </div>
            <${More} rows=${rows} />`}`;
}

export const eventsOf = (chosen) => [
  ["", t("group.all")],
  ...[...new Set([...Object.values(events), ...(chosen ? [chosen] : [])])].map((name) => [name, name]),
];

// useFresh keeps the rows up to date: it redraws the visible ones and loads new ones, or offers
// them where that would move the visible rows.
function useFresh(rows, instance, asked) {
  const [fresh, setFresh] = useState(false);
  const now = useRef(rows);
  now.current = rows;
  useEffect(() => {
    setFresh(false);
    const updates = new Map();
    let other = false,
      timer = 0;
    const apply = () => {
      timer = 0;
      const { value, set, load } = now.current;
      if (value && updates.size) set({ ...value, records: value.records.map((row) => updates.get(row.id) || row) });
      updates.clear();
      if (!other) return;
      other = false;
      if (value?.grown || scrollY > 200) setFresh(true);
      else load();
    };
    const later = () => {
      timer ||= setTimeout(apply, 700);
    };
    const ends = [
      onLive("deliveries", () => {
        other = true;
        later();
      }),
      onLive("delivery", ({ delivery }) => {
        if (now.current.value?.records.some((row) => row.id === delivery.id)) updates.set(delivery.id, delivery);
        else if (fits(delivery, instance, asked)) other = true;
        else return;
        later();
      }),
    ];
    return () => {
      clearTimeout(timer);
      ends.forEach((end) => end());
    };
  }, [rows.path]);
  return [
    fresh,
    () => {
      setFresh(false);
      return now.current.load();
    },
  ];
}

// fits excludes deliveries that cannot match; the server decides about the rest.
const fits = (row, instance, { state, event, target, endpointId }) =>
  (!instance || (row.instanceName === instance && row.target !== "global")) &&
  (!state.length || state.includes(row.state)) &&
  (!event || row.event === event) &&
  (!target || row.target === target) &&
  (!endpointId || row.endpointId === endpointId);

export const hostOf = (url) => /^https?:\/\/([^/]+)/.exec(url)?.[1] || url;
export const whither = (row) => row.endpointId || hostOf(row.url);
export const answerOf = (row) => row.lastError || (row.lastStatus ? String(row.lastStatus) : "–");

const drawDelivery = (row) =>
  html`<div role="cell" class="cell">
      <${Outcome} of=${row.state} tries=${row.attemptCount} /><${Ahead} row=${row} />
    </div>
    <div role="cell" class="cell name">
      <${Entry}
        page="deliveries"
        id=${row.id}
        query=${Object.fromEntries(place.value.query)}
        class="plain one-line mono"
        >${row.event}<//
      ><span class="quiet one-line">${row.instanceName || row.batchId}</span>
    </div>
    <div role="cell" class="cell wide-only">
      <span class="one-line" title=${row.url}>${whither(row)}</span>${row.target !== "webhook" &&
      html`<span class="quiet one-line">${t("delivery." + row.target)}</span>`}
    </div>
    <div role="cell" class="cell wide-only">
      <span class="one-line" title=${row.lastError}>${answerOf(row)}</span
      ><span class="quiet one-line figures"
        >${row.attemptCount > 0 && many("delivery.tries", row.attemptCount)}${row.durationMs !== null &&
        " · " + number(row.durationMs) + " ms"}</span
      >
    </div>
    <div role="cell" class="cell">
      <span class="one-line quiet figures" title=${moment(row.createdAt)}>${ago(row.createdAt)}</span>
    </div>`;
