// One delivery: receiver, body, and the answer to each attempt.
import { useEffect, useState } from "preact/hooks";
import { call } from "../data/api.js";
import { useLoaded } from "../data/loaded.js";
import { onLive } from "../data/live.js";
import { can } from "../data/session.js";
import { html } from "../html.js";
import { to } from "../router.js";
import { toast, useTitle } from "../ui/float.js";
import { Icon } from "../ui/icon.js";
import { Button, Copy, Empty, Loading, Trouble } from "../ui/parts.js";
import { Mark } from "../ui/sheet.js";
import { clock, many, moment, number, t } from "../words.js";
import { Ahead, Outcome } from "./deliveries.js";
import { Json, quoted } from "./instance_events.js";
import { Time } from "./instance_state.js";

export function OneDelivery({ path, id, query }) {
  const back = to(["deliveries"], { ...Object.fromEntries(query), show: "" });
  return html`<div class="page-head instance-head">
      <div>
        <a class="crumb" href=${back}><${Icon} name="left" />${t("nav.deliveries")}</a>
        <h1 tabindex="-1">${t("delivery.one", { id })}</h1>
      </div>
    </div>
    <${Delivery} path=${path} id=${id} query=${query} />`;
}

// Delivery shows a delivery on its page, or beside the list.
export function Delivery({ path, id, query, beside }) {
  const loaded = useLoaded(path + "/" + encodeURIComponent(id), { none: null });
  const [error, setError] = useState(null);
  const { value: row, load } = loaded;
  useTitle((!beside && row?.event) || t("nav.deliveries"));
  useEffect(() => {
    const ends = [
      onLive("delivery", ({ delivery }) => {
        if (String(delivery.id) === id) load();
      }),
      onLive("deliveries", load),
    ];
    return () => ends.forEach((end) => end());
  }, [load]);
  const back = { ...Object.fromEntries(query), show: "" };
  const retry = async () => {
    setError(null);
    try {
      await call("POST", path + "/" + row.id + "/retry");
      toast(t("delivery.retried"));
      await load();
    } catch (reason) {
      setError(reason);
    }
  };
  if (row === null)
    return html`<${Empty}
      icon="search"
      title=${t("delivery.gone")}
      buttons=${html`<a class="button" href=${to(["deliveries"], back)}>${t("nav.deliveries")}</a>`}
      >${t("delivery.goneText")}<//
    >`;
  return html`<div class="stack">
    ${row &&
    html`<div class="between">
      <p class="lead">
        <strong class="mono">${row.event}</strong><${Outcome} of=${row.state} tries=${row.attemptCount} pill /><${Ahead}
          row=${row}
        /><span class="one-line"
          >${row.instanceName && can("read")
            ? html`<a href=${to(["instances", row.instanceName])}>${row.instanceName}</a>`
            : row.instanceName || row.batchId}</span
        >
      </p>
      ${row.replayable &&
      html`<div class="buttons">
        <${Button} kind="first" icon="restart" word=${t("delivery.retry")} act=${retry} />
      </div>`}
    </div>`}
    <${Trouble} error=${loaded.error || error} again=${loaded.error && load} />${row
      ? html`<div class="pair"><${Facts} row=${row} back=${back} /><${Attempts} all=${row.attempts} /></div>
          <${Body} row=${row} />`
      : !loaded.error && html`<${Loading} />`}
  </div>`;
}

function Facts({ row, back }) {
  const ids = (text) =>
    html`<dd class="with-button">
      <span class="mono">${text}</span><${Copy} text=${text} kind="bare square small" />
    </dd>`;
  return html`<section class="card">
    <header><h2>${t("delivery.facts")}</h2></header>
    <dl class="facts">
      <dt>${t("delivery.to")}</dt>
      <dd>
        ${t(row.target === "webhook" ? "webhook.title" : "delivery." + row.target)}${row.endpointId &&
        " · " + row.endpointId}<br /><span class="mono">${row.url}</span>
      </dd>
      <dt>${t("delivery.made")}</dt>
      <dd><${Time} at=${row.createdAt} /></dd>
      <dt>${t("delivery.last")}</dt>
      <dd><${Time} at=${row.lastAttemptAt} /></dd>
      ${row.nextAttemptAt &&
      html`<dt>${t("delivery.next")}</dt>
        <dd><${Time} at=${row.nextAttemptAt} /></dd>`}
      <dt>${t("delivery.event")}</dt>
      ${ids(row.eventId)}
      ${row.requestId &&
      html`<dt>${t("delivery.request")}</dt>
        ${ids(row.requestId)}`}
      ${row.replayOf &&
      html`<dt>${t("delivery.replayOf")}</dt>
        <dd><a href=${to(["deliveries", row.replayOf], back)}>${row.replayOf}</a></dd>`}
      <dt>${t("delivery.body")}</dt>
      <dd class="figures">${many("bytes", row.bytes)}</dd>
    </dl>
  </section>`;
}

function Attempts({ all }) {
  return html`<section class="card">
    <header><h2>${t("delivery.attempts")}</h2></header>
    ${all.length === 0
      ? html`<p class="quiet">${t("delivery.noAttempt")}</p>`
      : html`<ol class="attempts">
          ${[...all].reverse().map(
            (one) =>
              html`<li key=${one.number}>
                <div class="between">
                  <${Mark}
                    tone=${one.error ? "bad" : "good"}
                    word=${one.status
                      ? t("try." + (one.error ? "refused" : "taken"), { status: one.status })
                      : one.error
                        ? t("try.nothing")
                        : t("delivery.DELIVERED")}
                  /><span class="quiet figures" title=${moment(one.startedAt)}
                    >${number(one.number)} · ${clock(one.startedAt)} · ${number(one.durationMs)} ms</span
                  >
                </div>
                ${one.error && html`<p class="quiet">${one.error}</p>`}${one.answer &&
                html`<pre class="code" tabindex="0" aria-label=${t("delivery.answer")}>${one.answer}</pre>`}
              </li>`,
          )}
        </ol>`}
  </section>`;
}

function Body({ row }) {
  const { body } = row;
  let parsed;
  try {
    parsed = JSON.parse(body);
  } catch {
    // shown as text
  }
  const curl = () =>
    `curl -X POST ${quoted(row.url)} -H ${quoted("Content-Type: application/json")} -H ${quoted("x-webhook-event: " + row.event)} --data-raw ${quoted(body)}`;
  return html`<section class="card event-body">
    <header>
      <h2>${t("delivery.body")}</h2>
      ${body !== null &&
      html`<div class="buttons"><${Copy} text=${body} /><${Copy} text=${curl} word=${t("events.curl")} /></div>`}
    </header>
    ${body === null
      ? html`<p class="quiet">${t("delivery.noBody")}</p>`
      : parsed && typeof parsed === "object"
        ? html`<${Json} value=${parsed} />`
        : html`<pre class="code" tabindex="0" aria-label=${t("delivery.body")}>${body}</pre>`}
  </section>`;
}
