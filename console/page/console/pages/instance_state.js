// The state of an instance with its reason and time, restrictions by WhatsApp, usage of its
// limits, and its figures.
import { useEffect, useRef, useState } from "preact/hooks";
import { call, instancePath } from "../data/api.js";
import { onLive } from "../data/live.js";
import { useKept, useLoaded } from "../data/loaded.js";
import { chatName, gist } from "../data/messages.js";
import { can } from "../data/session.js";
import { groupFor, numberOf, stateOf } from "../data/states.js";
import { html } from "../html.js";
import { to } from "../router.js";
import { Cancel, Dialog, close, open, toast } from "../ui/float.js";
import { Icon } from "../ui/icon.js";
import { Button, Meter, Notice, Said, State, Text, Trouble } from "../ui/parts.js";
import { ago, clock, has, moment, number, t } from "../words.js";
import { Outcome, pathOf } from "./deliveries.js";

export function Now({ row }) {
  const status = useLoaded(instancePath(row.name) + "/connection/status");
  useEffect(() => {
    if (status.value) status.load();
  }, [row.connectionStatus, row.updatedAt]);
  const is = status.value;
  return html`<div class="stack">
    <${Trouble} error=${status.error} again=${status.load} /><${What} row=${row} is=${is} />${is?.restriction &&
    html`<${Held} it=${is.restriction} />`}<${Ways} row=${row} /><${Day} day=${is?.day} asked=${is || status.error} />
    <div class="pair">
      <${Connection} row=${row} is=${is} failed=${status.error} /><${Used}
        row=${row}
        is=${is}
        failed=${status.error}
      /><${Latest} row=${row} />
    </div>
    ${can("operator") && html`<${Figures} name=${row.name} />`}
  </div>`;
}

// Ways leads from the instance to what belongs to it.
function Ways({ row: { name, connectionStatus } }) {
  const way = (page, icon, parts, query) =>
    html`<a class="button" href=${to(parts, query)}><${Icon} name=${icon} />${t("nav." + page)}</a>`;
  return html`<div class="buttons">
    ${way("chats", "chats", ["chats", name])}
    ${can("deliveries") && way("deliveries", "deliveries", ["deliveries"], { instance: name })}
    ${can("batch") && way("batches", "batches", ["batches"], { instance: name })}
    ${can("send") &&
    groupFor(connectionStatus) === "good" &&
    html`<${Button}
      icon="check"
      word=${t("hub.send")}
      act=${() => {
        open(() => html`<${SendTest} name=${name} />`);
      }}
    />`}
  </div>`;
}

function SendTest({ name }) {
  const path = instancePath(name) + "/send/text";
  const [number, setNumber, sentTo] = useKept(path + "/number", "");
  const [text, setText, sentText] = useKept(path + "/message", t("hub.text"));
  const [error, setError] = useState(null);
  const key = useRef("test-" + Math.random().toString(36).slice(2));
  const right = /^[1-9]\d{6,14}$/.test(number.replace(/[+()./\-\s\p{Cf}]/gu, ""));
  const send = async () => {
    setError(null);
    try {
      const body = { number: number.replace(/\D/g, ""), textMessage: { text } };
      await call("POST", path, body, { headers: { "Idempotency-Key": key.current }, patience: 60000 });
      sentTo();
      sentText();
      close();
      toast(t("hub.wasSent", { number: "+" + body.number }));
    } catch (reason) {
      setError(reason);
    }
  };
  const submit = (event) => {
    event.preventDefault();
    event.target.closest("dialog").querySelector("footer .first").click();
  };
  return html`<${Dialog}
    title=${t("hub.sendOf", { name })}
    footer=${html`<${Cancel} /><${Button}
        kind="first"
        word=${t("try.do")}
        disabled=${!right || !text.trim()}
        act=${send}
      />`}
    ><form class="form" onSubmit=${submit} novalidate>
      <${Text}
        label=${t("hub.number")}
        help=${t("hub.numberHelp")}
        inputmode="tel"
        value=${number}
        on=${setNumber}
      /><${Text} label=${t("hub.message")} value=${text} on=${setText} maxlength="4096" /><button hidden></button>
    </form>
    <${Trouble} error=${error}
  /><//>`;
}

const dayParts = ["received", "sent", "waiting", "failed"];

// Day shows what happened in 24 hours, as far as it is known.
function Day({ day, asked }) {
  const value = (name) => (typeof day?.[name] === "number" ? number(day[name]) : t(asked ? "unknown" : "loading"));
  return html`<section class="card">
    <header>
      <h2>${t("hub.day")}</h2>
      ${day?.since && html`<p>${t("hub.since", { time: moment(day.since) })}</p>`}
    </header>
    <dl class="tiles">
      ${dayParts.map(
        (name) =>
          html`<div key=${name}>
            <dt>${t("hub." + name)}</dt>
            <dd class="figures">${value(name)}</dd>
          </div>`,
      )}
    </dl>
  </section>`;
}

// Latest shows the last chats and deliveries.
function Latest({ row: { name } }) {
  const chats = useLoaded(instancePath(name) + "/chats?limit=5");
  const deliveries = useLoaded(can("deliveries") ? pathOf(name) + "?limit=5" : null);
  useEffect(() => {
    const later = () => {
      timer ||= setTimeout(() => {
        timer = 0;
        chats.load();
        deliveries.load();
      }, 3000);
    };
    let timer = 0;
    const ends = ["delivery", "deliveries"].map((type) => onLive(type, later));
    return () => {
      clearTimeout(timer);
      ends.forEach((end) => end());
    };
  }, [name]);
  const card = (title, loaded, none, draw) =>
    html`<section class="card">
      <header><h2>${title}</h2></header>
      <${Trouble} error=${loaded.error} again=${loaded.load} />${loaded.value
        ? loaded.value.records.length
          ? html`<ul class="latest">
              ${loaded.value.records.slice(0, 5).map(draw)}
            </ul>`
          : html`<p class="quiet">${none}</p>`
        : !loaded.error && html`<p class="quiet">${t("loading")}</p>`}
    </section>`;
  return html`${card(
    t("hub.chats"),
    chats,
    t("chats.none"),
    (chat) =>
      html`<li key=${chat.jid}>
        <a class="plain one-line" href=${to(["chats", name, chat.jid])}
          ><strong><bdi>${chatName(chat)}</bdi></strong
          >${" "}<span class="quiet"><bdi>${gist(chat.lastMessage)}</bdi></span></a
        >${chat.lastMessage?.messageTimestamp &&
        html`<${Time} at=${new Date(chat.lastMessage.messageTimestamp * 1000).toISOString()} />`}
      </li>`,
  )}${can("deliveries") &&
  card(
    t("hub.deliveries"),
    deliveries,
    t("delivery.none"),
    (one) =>
      html`<li key=${one.id}>
        <a class="plain one-line" href=${to(["deliveries", one.id], { instance: name })}
          ><${Outcome} of=${one.state} tries=${one.attemptCount} /> <span class="mono">${one.event}</span></a
        ><${Time} at=${one.createdAt} />
      </li>`,
  )}`;
}

// What to do about a state, if anything.
function What({ row, is }) {
  const state = stateOf(row.connectionStatus),
    group = groupFor(state);
  const key = "do." + state;
  if (group === "good" || !has(key)) return null;
  return html`<${Notice} tone=${group} title=${t(key + ".title")}>${t(key)}<${Said} text=${is?.lastError} /><//>`;
}

function Held({ it }) {
  const key = "held." + it.kind;
  return html`<${Notice}
    tone="busy"
    icon="held"
    title=${it.until ? t("held.until", { time: moment(it.until) }) : t("held.title")}
    >${has(key) ? t(key) : it.kind} ${t("held.since", { time: moment(it.since) })} ${t("held." + it.source)}<${Said}
      text=${it.reason}
  /><//>`;
}

function Connection({ row, is, failed }) {
  const at = (name) => (!is && failed ? t("unknown") : html`<${Time} at=${is?.[name]} />`);
  return html`<section class="card">
    <header><h2>${t("connection.title")}</h2></header>
    <dl class="facts">
      <dt>${t("column.state")}</dt>
      <dd><${State} of=${row.connectionStatus} /></dd>
      <dt>${t("connection.since")}</dt>
      <dd><${Time} at=${row.updatedAt} /></dd>
      <dt>${t("column.account")}</dt>
      <dd class="figures">
        ${numberOf(row.ownerJid) || html`<span class="quiet">${t("connection.noAccount")}</span>`}
      </dd>
      <dt>${t("connection.connected")}</dt>
      <dd>${at("lastConnectedAt")}</dd>
      <dt>${t("connection.received")}</dt>
      <dd>${at("lastReceivedAt")}</dd>
      <dt>${t("connection.sent")}</dt>
      <dd>${at("lastSentAt")}</dd>
      ${!!is?.statusReason &&
      html`<dt>${t("connection.reason")}</dt>
        <dd class="mono">${is.statusReason}</dd>`}
      ${is?.lastError &&
      html`<dt>${t("connection.error")}</dt>
        <dd>${is.lastError}</dd>`}
      ${Object.keys(row.externalAttributes || {}).length > 0 &&
      html`<dt>${t("create.attributes")}</dt>
        <dd class="mono">${JSON.stringify(row.externalAttributes)}</dd>`}
      <dt>${t("connection.created")}</dt>
      <dd><${Time} at=${row.createdAt} /></dd>
    </dl>
  </section>`;
}

export function Time({ at }) {
  if (!at) return html`<span class="quiet">–</span>`;
  return html`<time datetime=${at} title=${moment(at)}>${ago(at)}</time>`;
}

const limited = ["perMinute", "perHour", "perDay", "newContactsPerDay"];

function Used({ row, is, failed }) {
  const limits = is?.limits;
  const set = limited.filter((name) => limits?.[name]);
  return html`<section class="card">
    <header>
      <h2>${t("limits.title")}</h2>
      ${can("manage") && html`<a href=${to(["instances", row.name, "limits"])}>${t("limits.change")}</a>`}
    </header>
    ${limits?.quietUntil &&
    html`<p class="state wait">${t("limits.quiet", { time: clock(limits.quietUntil, false) })}</p>`}
    ${set.length === 0
      ? html`<p class="quiet">${t(is ? "limits.none" : failed ? "unknown" : "loading")}</p>`
      : html`<div class="stack tight">
          ${set.map((name) => {
            const { limit, used, resetsAt } = limits[name];
            return html`<div key=${name}>
              <p class="between figures">
                <span>${t("limits." + name)}</span
                ><span><strong>${number(used)}</strong>${" "}${t("of", { n: number(limit) })}</span>
              </p>
              <${Meter} used=${used} of=${limit} label=${t("limits." + name)} />${used >= limit &&
              resetsAt &&
              html`<p class="quiet">${t("limits.resets", { time: clock(resetsAt, false) })}</p>`}
            </div>`;
          })}
        </div>`}
  </section>`;
}

const figures = [
  ["postern_instance_received_total", "figure.received"],
  ["postern_instance_sent_total", "figure.sent"],
  ["postern_instance_undecryptable_total", "figure.undecryptable"],
  ["postern_instance_webhook_failures_total", "figure.failures"],
];

// Figures needs metrics.per_instance.
function Figures({ name }) {
  const { value, error } = useLoaded("/metrics", { as: "text", none: "" });
  const found =
    value && figures.map(([metric, key]) => [key, metricOf(value, metric, name)]).filter(([, n]) => n !== null);
  if (!found?.length && (value !== undefined || !error)) return null;
  return html`<section class="card">
    <header>
      <h2>${t("figures.title")}</h2>
      <p>${t("figures.since")}</p>
    </header>
    ${found?.length > 0
      ? html`<dl class="tiles">
          ${found.map(
            ([key, n]) =>
              html`<div key=${key}>
                <dt>${t(key)}</dt>
                <dd class="figures">${number(n)}</dd>
              </div>`,
          )}
        </dl>`
      : html`<p class="quiet">${t("unknown")}</p>`}
  </section>`;
}

export function metricOf(text, metric, name) {
  const start = metric + (name === undefined ? " " : `{name="${name}"} `);
  const line = text.split("\n").find((one) => one.startsWith(start));
  return line ? Number(line.slice(start.length)) : null;
}
