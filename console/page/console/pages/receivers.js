// Receivers of webhooks: the state of each, its last day, and what can be done about it.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { call, instancePath } from "../data/api.js";
import { onLive } from "../data/live.js";
import { useLoaded } from "../data/loaded.js";
import { can } from "../data/session.js";
import { html } from "../html.js";
import { choose, to } from "../router.js";
import { Cancel, Dialog, close, open, toast } from "../ui/float.js";
import { Button, Select, Trouble } from "../ui/parts.js";
import { Mark, More, useRows } from "../ui/sheet.js";
import { ago, many, moment, number, t } from "../words.js";
import { Answer } from "./instance_webhook.js";
import { Replay } from "./deliveries_replay.js";

const toneOf = { FAILING: "bad", PAUSED: "busy", OK: "good", IDLE: "off" };
const step = 5; // rows of a group at first; ten times as many more on request, since each asks for its last day

// receiversOf returns the path of the receivers of an instance, or of all.
const receiversOf = (instance) => (instance ? instancePath(instance) + "/webhook" : "") + "/receivers";

// useReceivers loads receivers, and again a while after deliveries were made: later if they are many.
function useReceivers(path, asked) {
  const rows = useRows(can("deliveries") ? path : null, asked, 1000);
  const { load } = rows,
    size = useRef(0);
  size.current = rows.value?.records.length || 0;
  useEffect(() => {
    let timer = 0;
    const later = () => {
      timer ||= setTimeout(
        () => {
          timer = 0;
          load();
        },
        3000 + size.current * 10,
      );
    };
    const ends = ["delivery", "deliveries", "troubles"].map((type) => onLive(type, later));
    return () => {
      clearTimeout(timer);
      ends.forEach((end) => end());
    };
  }, [load]);
  const put = (row) =>
    rows.set({
      ...rows.value,
      records: rows.value.records.map((one) => (one.id === row.id ? { ...one, ...row } : one)),
    });
  return { ...rows, put };
}

const originOf = (row) => (row.url ? new URL(row.url).origin : "");

// Receivers shows the receivers of an instance, or of all by origin; of narrows these to one.
export function Receivers({ instance, of = "", origin = "" }) {
  const path = receiversOf(instance);
  const rows = useReceivers(path, { origin, instance: of });
  const records = rows.value?.records || [];
  const groups = useMemo(() => {
    const by = new Map();
    for (const row of records) by.set(originOf(row), [...(by.get(originOf(row)) || []), row]);
    return [...by];
  }, [records]);
  if (!records.length && !rows.error && !origin) return null;
  const draw = (row) => html`<${Receiver} key=${row.id} row=${row} path=${path} put=${rows.put} load=${rows.load} />`;
  return html`<section class="card receivers">
    <header>
      <h2>${t("receivers.title")}</h2>
      ${origin &&
      html`<${Button}
        kind="small"
        icon="close"
        word=${t("receivers.only", { origin })}
        act=${() => {
          choose({ origin: "" });
        }}
      />`}
    </header>
    <${Trouble} error=${rows.error} again=${rows.load} />
    ${origin && rows.value && !records.length && html`<p class="quiet">${t("instances.none")}</p>`}
    ${instance
      ? html`<ul>
          ${records.map(draw)}
        </ul>`
      : groups.map(
          ([at, list]) => html`<${Group} key=${at} origin=${at} rows=${list} shown=${!!origin} draw=${draw} />`,
        )}
    <${More} rows=${rows} />
  </section>`;
}

// Group is what goes to one origin. It is open while something of it needs a look.
function Group({ origin, rows, shown, draw }) {
  const [begin] = useState(shown || rows.some((row) => row.state !== "OK" && row.state !== "IDLE"));
  const [most, setMost] = useState(step);
  const waiting = rows.reduce((sum, row) => sum + row.waiting, 0);
  return html`<details open=${begin}>
    <summary>
      <strong>${origin || t("receivers.pull")}</strong>${Object.keys(toneOf).map((state) => {
        const n = rows.filter((row) => row.state === state).length;
        return (
          n > 0 &&
          html` <${Mark} key=${state} tone=${toneOf[state]} word=${t("receiver." + state) + " " + number(n)} />`
        );
      })}${waiting > 0 && html` <span class="quiet figures">${t("receiver.waiting", { n: number(waiting) })}</span>`}
    </summary>
    <ul>
      ${rows.slice(0, most).map(draw)}
    </ul>
    ${rows.length > most &&
    html`<div class="buttons">
      <${Button}
        kind="small"
        word=${t("receivers.more", { n: number(most), of: number(rows.length) })}
        act=${() => setMost(most + 10 * step)}
      />
    </div>`}
  </details>`;
}

const nameOf = (row) => row.instanceName || (row.target === "global" ? t("delivery.global") : row.endpointId);

function Receiver({ row, path, put, load }) {
  const [error, setError] = useState(null);
  const [answer, setAnswer] = useState(null);
  const own = path + "/" + encodeURIComponent(row.id);
  const act = (what, body) => async () => {
    setError(null);
    setAnswer(null);
    try {
      const made = await call("POST", own + "/" + what, body, { patience: 60000 });
      if (what !== "test") return void put(made);
      setAnswer(made);
      load();
    } catch (reason) {
      setError(reason);
    }
  };
  const name = nameOf(row);
  const { instanceName, endpointId, target, since, nextAttemptAt, oldestWaitingAt, pausedUntil } = row;
  const facts = [
    row.waiting > 0 && t("receiver.waiting", { n: number(row.waiting) }),
    row.waiting > 0 && oldestWaitingAt && t("receiver.oldest", { time: ago(oldestWaitingAt) }),
    row.failures > 0 && many("receiver.failures", row.failures),
    nextAttemptAt &&
      !pausedUntil &&
      t("receiver.next", { time: ago(Math.max(Date.parse(nextAttemptAt), Date.now() + 1000)) }),
  ].filter(Boolean);
  return html`<li class="receiver">
    <div class="receiver-who">
      <span class="one-line">
        ${instanceName && can("read")
          ? html`<a class="plain" href=${to(["instances", instanceName])}>${name}</a>`
          : html`<span>${name}</span>`}
        ${endpointId && endpointId !== name && html`<span class="quiet"> · ${endpointId}</span>`}</span
      >
      <span class="quiet one-line mono" title=${row.url}>${row.url}</span>
    </div>
    <div class="receiver-state">
      <${Mark} tone=${toneOf[row.state] || "off"} word=${t("receiver." + row.state)} />
      <span class="quiet figures"
        >${pausedUntil
          ? t("receiver.until", { time: moment(pausedUntil) })
          : since && t("receiver.since", { time: ago(since) })}</span
      >
    </div>
    <${LastDay} row=${row} path=${own} />
    ${(facts.length > 0 || row.failures > 0) &&
    html`<p class="receiver-facts figures">
      ${facts.join(" · ")}
      ${row.failures > 0 &&
      (row.lastError || row.lastStatus) &&
      html` <span class="quiet">(<bdi>${row.lastError || row.lastStatus}</bdi>)</span>`}
    </p>`}
    ${target !== "consumer" &&
    html`<div class="buttons">
      ${can("webhook") &&
      html`<${Button}
        kind="small"
        word=${t("receiver.try")}
        aria-label=${t("receiver.test", { name })}
        act=${act("test", {})}
      />`}
      ${can("webhook") &&
      (pausedUntil
        ? html`<${Button}
            kind="small"
            icon="play"
            word=${t("receiver.resume")}
            aria-label=${t("receiver.resumeOf", { name })}
            act=${act("resume")}
          />`
        : row.durable &&
          html`<${Button}
            kind="small"
            icon="pause"
            word=${t("receiver.pause")}
            aria-label=${t("receiver.pauseOf", { name })}
            act=${() => {
              open(() => html`<${Pause} name=${name} path=${own} put=${put} />`);
            }}
          />`)}
      <${Button}
        kind="small"
        icon="restart"
        word=${t("receiver.replay")}
        aria-label=${t("receiver.replayOf", { name })}
        act=${() => {
          open(
            () =>
              html`<${Replay}
                instance=${instanceName || ""}
                chosen=${{ event: "", target, endpointId: endpointId || "", from: since || "", to: "", state: [] }}
              />`,
          );
        }}
      />
      <a
        class="button small"
        href=${to(["deliveries"], { instance: instanceName, target, endpointId })}
        aria-label=${t("receiver.deliveriesOf", { name })}
        >${t("nav.deliveries")}</a
      >
    </div>`}
    ${answer && html`<${Answer} of=${answer} />`}
    <${Trouble} error=${error} />
  </li>`;
}

const lasts = [
  [900, "pause.quarter"],
  [3600, "invite.hour"],
  [14400, "invite.hours"],
  [86400, "invite.day"],
  [604800, "pause.week"],
];

function Pause({ name, path, put }) {
  const [expiresIn, setExpiresIn] = useState("3600");
  const [error, setError] = useState(null);
  const pause = async () => {
    setError(null);
    try {
      const row = await call("POST", path + "/pause", { expiresIn: Number(expiresIn) });
      put(row);
      close();
      toast(t("pause.done", { name, time: moment(row.pausedUntil) }));
    } catch (reason) {
      setError(reason);
    }
  };
  return html`<${Dialog}
    title=${t("pause.title", { name })}
    footer=${html`<${Cancel} /> <${Button} kind="first" word=${t("receiver.pause")} act=${pause} />`}
  >
    <p>${t("pause.text")}</p>
    <${Select}
      label=${t("pause.for")}
      help=${t("receiver.until", { time: moment(Date.now() + +expiresIn * 1000) })}
      value=${expiresIn}
      on=${setExpiresIn}
      options=${lasts.map(([seconds, key]) => [String(seconds), t(key)])} />
    <${Trouble} error=${error}
  /><//>`;
}

// LastDay draws the attempts of 24 hours, which the list does not have.
function LastDay({ row, path }) {
  const loaded = useLoaded(row.target === "consumer" ? null : path);
  const at = row.lastAttemptAt?.slice(0, 16);
  useEffect(() => {
    if (loaded.value) loaded.load();
  }, [at]);
  if (row.target === "consumer") return html`<span></span>`;
  const { delivered, failed, averageMs } = row.day;
  const words =
    many("receiver.accepted", delivered) +
    ", " +
    many("receiver.failed", failed) +
    (averageMs === null ? "" : ", " + number(averageMs) + " ms");
  const hours = loaded.value?.hours,
    most = Math.max(1, ...(hours || []).map((one) => one.delivered + one.failed));
  const bar = (one, i) => {
    const high = one.delivered + one.failed && Math.max(1, ((one.delivered + one.failed) / most) * 20),
      bad = one.failed && Math.max(1, (one.failed / most) * 20);
    return html`<rect class="zero" x=${i * 4} y="20" width="3" height="1" />
      <rect class="good" x=${i * 4} y=${20 - high} width="3" height=${high - bad} /><rect
        class="bad"
        x=${i * 4}
        y=${20 - bad}
        width="3"
        height=${bad}
      />`;
  };
  return html`<div class="receiver-day">
    <svg
      viewBox="0 0 95 21"
      preserveAspectRatio="none"
      role="img"
      aria-label=${t("receiver.day", { what: hours ? words : t(loaded.error ? "unknown" : "loading") })}
    >
      ${hours?.map(bar)}
    </svg>
    <span class="quiet figures one-line">${loaded.error && !hours ? t("unknown") : words}</span>
  </div>`;
}
