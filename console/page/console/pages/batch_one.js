// The page of one batch with its actions, what it is about, and its recipients.
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { call, get } from "../data/api.js";
import { act, again, allows, as, ended, pathOf } from "../data/talk.js";
import { named } from "../data/messages.js";
import { onLive, onReload } from "../data/live.js";
import { session } from "../data/session.js";
import { html } from "../html.js";
import { go, to } from "../router.js";
import { confirm, toast, useTitle } from "../ui/float.js";
import { Icon } from "../ui/icon.js";
import { Button, Empty, Loading, Notice, Trouble } from "../ui/parts.js";
import { ago, many, moment, number, seconds, span, t } from "../words.js";
import { Items } from "./batch_items.js";
import { Bar, BatchState } from "./batch_state.js";

// useBatch keeps a batch up to date and measures its rate: items a minute over the last
// observed minutes.
function useBatch(id, owner) {
  const [state, setState] = useState({ batch: null, error: null, gone: false });
  const marks = useRef([]);
  const take = (batch) => {
    marks.current = [
      ...marks.current.filter((one) => one.at > Date.now() - 180000),
      { at: Date.now(), n: batch.counts.processed },
    ].slice(-400);
    setState({ batch, error: null, gone: false });
  };
  const load = useCallback(async () => {
    try {
      take(await get(pathOf(id), as(owner)));
    } catch (error) {
      setState((before) => ({ ...before, error, gone: error.status === 404 }));
    }
  }, [id, owner]);
  useEffect(() => {
    load();
    const ends = [
      onReload(load),
      onLive("batch", ({ batch }) => batch.id === id && take(batch)),
      onLive("batchDeleted", (removed) => removed.id === id && setState((before) => ({ ...before, gone: true }))),
    ];
    return () => ends.forEach((end) => end());
  }, [load]);
  const [first] = marks.current,
    last = marks.current.at(-1);
  const watched =
    last && last.n > first.n && last.at - first.at > 2000 ? ((last.n - first.n) / (last.at - first.at)) * 60000 : 0;
  return { ...state, load, take, rate: watched || guessed(state.batch) };
}

// guessed returns the rate since the start, or the one that the pauses allow.
function guessed(batch) {
  if (!batch || batch.status !== "PROCESSING") return 0;
  const { delay } = batch.options || {},
    minutes = (Date.now() - Date.parse(batch.startedAt)) / 60000;
  if (batch.counts.processed > 1 && minutes > 0.1) return batch.counts.processed / minutes;
  const pause = ((delay?.minMs || 0) + (delay?.maxMs || 0)) / 2;
  return pause > 0 ? 60000 / pause : 0;
}

export function Batch({ id, owner }) {
  const { batch, error, gone, load, take, rate } = useBatch(id, owner);
  const [wrong, setWrong] = useState(null);
  useTitle(named(batch?.name), t("nav.batches"));
  const crumb = html`<a class="crumb" href=${to(["batches"])}><${Icon} name="left" />${t("nav.batches")}</a>`;
  if (gone)
    return html`<${Empty}
      icon="search"
      title=${t("batch.gone")}
      buttons=${html`<a class="button" href=${to(["batches"])}>${t("batch.back")}</a>`}
      >${t("batch.goneText")}<//
    >`;
  if (!batch)
    return html`<div class="page-head">
        <div>
          ${crumb}
          <h1 tabindex="-1">${t("nav.batches")}</h1>
        </div>
      </div>
      ${error ? html`<${Trouble} error=${error} again=${load} />` : html`<${Loading} />`}`;
  const { counts, status } = batch,
    name = named(batch.name) || t("batch.unnamed");
  const doing = (what) => async () => {
    setWrong(null);
    try {
      take(await act(batch, what));
    } catch (reason) {
      setWrong(reason);
    }
  };
  const stop = () =>
    confirm({
      title: t("batch.stopTitle", { name }),
      word: t("batch.stop"),
      act: async () => take(await act(batch, "stop")),
      children: many("batch.stopText", counts.pending + counts.sending),
    });
  const retry = async () => {
    setWrong(null);
    try {
      const made = await again(batch, t("batch.againName", { name: batch.name }));
      toast(t("batch.againDone"));
      go(["batches", made.id], { user: session.value.operator && made.ownerUserId });
    } catch (reason) {
      setWrong(reason);
    }
  };
  const remove = () =>
    confirm({
      title: t("batch.deleteTitle", { name }),
      word: t("delete.do"),
      act: async () => {
        await call("DELETE", pathOf(id), undefined, as(batch.ownerUserId));
        go(["batches"]);
        toast(t("delete.done", { name }));
      },
      children: t("batch.deleteText"),
    });
  const left = counts.pending + counts.sending;
  return html`<div class="page-head instance-head">
      <div>
        ${crumb}
        <h1 tabindex="-1"><bdi>${name}</bdi></h1>
        <p class="lead"><${BatchState} of=${status} pill /><span>${sentence(batch)}</span></p>
      </div>
      <div class="buttons">
        ${allows.start(status) &&
        html`<${Button}
          kind="first"
          icon="play"
          word=${t(status === "DRAFT" ? "batch.start" : "batch.goOn")}
          act=${doing("start")}
        />`}${allows.pause(status) &&
        html`<${Button} icon="pause" word=${t("batch.pause")} act=${doing("pause")} />`}${allows.stop(status) &&
        html`<${Button}
          kind="harm"
          icon="close"
          word=${t("batch.stop")}
          act=${() => {
            stop();
          }}
        />`}${counts.failed > 0 &&
        ended(status) &&
        html`<${Button} icon="restart" word=${t("batch.again")} act=${retry} />`}${ended(status) &&
        html`<${Button}
          kind="bare square"
          icon="trash"
          word=${t("delete.do")}
          act=${() => {
            remove();
          }}
        />`}
      </div>
    </div>
    <div class="stack">
      ${wrong && html`<${Trouble} error=${wrong} />`}${status === "WAITING_FOR_INSTANCE" &&
      html`<${Notice} tone="bad" title=${t("batch.waits")}
        >${t("batch.waitsText", {
          names: batch.instances
            .map((one) => one.name)
            .slice(0, 5)
            .join(", "),
        })}<//
      >`}
      <section class="card progress-card">
        <div class="between">
          <p class="done">
            <strong class="figures">${number(counts.processed)}</strong>${" "}<span class="quiet"
              >${t("of", { n: number(counts.total) })}</span
            >
          </p>
          ${status === "PROCESSING" &&
          rate > 0 &&
          html`<p class="quiet figures" role="status">
            ${many("batch.rate", Math.round(rate) || 1)} · ${t("batch.left", { time: span((left / rate) * 60) })}
          </p>`}
        </div>
        <${Bar} counts=${counts} />
        <dl class="counts">
          ${[
            ["good", "success"],
            ["bad", "failed"],
            ["bad", "unknown"],
            ["off", "skipped"],
            ["off", "waiting"],
          ].map(([tone, key]) => {
            const n = key === "waiting" ? left : counts[key];
            return html`<div key=${key} class=${n ? tone : "off"}>
              <dt>${t("batch.count." + key)}</dt>
              <dd class="figures">${number(n)}</dd>
            </div>`;
          })}
        </dl>
      </section>
      <section class="card">
        <header><h2>${t("batch.about")}</h2></header>
        <dl class="facts">
          <dt>${t("batch.message")}</dt>
          <dd><${Content} message=${batch.message} /></dd>
          <dt>${t("batch.instances")}</dt>
          <dd>
            ${batch.instances
              .slice(0, 20)
              .map(
                (one, i) =>
                  html`${i > 0 && ", "}<a key=${one.name} href=${to(["instances", one.name])}>${one.name}</a>`,
              )}${batch.instances.length > 20 && " …"}
          </dd>
          <dt>${t("batch.delay")}</dt>
          <dd>
            ${batch.options?.delay?.maxMs
              ? t("batch.delayOf", { from: seconds(batch.options.delay.minMs), to: seconds(batch.options.delay.maxMs) })
              : t("batch.noDelay")}
          </dd>
          ${batch.schedule &&
          html`<dt>${t("batch.schedule")}</dt>
            <dd>
              ${t(batch.schedule.recurrence === "DAILY" ? "batch.daily" : "batch.onceWindow", {
                from: moment(batch.schedule.windowStartAt),
                to: moment(batch.schedule.windowEndAt),
              })}${batch.schedule.timezone && " · " + batch.schedule.timezone}
            </dd>`}${counts.duplicatesIgnored > 0 &&
          html`<dt>${t("batch.duplicates")}</dt>
            <dd>${number(counts.duplicatesIgnored)}</dd>`}
          <dt>${t("connection.created")}</dt>
          <dd>${moment(batch.createdAt)}</dd>
          ${session.value.operator &&
          html`<dt>${t("batches.user")}</dt>
            <dd class="mono">${batch.ownerUserId}</dd>`}
        </dl>
      </section>
      <${Items} batch=${batch} />
    </div>`;
}

function sentence(batch) {
  if (batch.nextRunAt && /SCHEDULED|WINDOW/.test(batch.status))
    return t("batch.next", { time: moment(batch.nextRunAt) });
  const at = batch.completedAt || batch.stoppedAt || batch.pausedAt || batch.startedAt;
  return at ? ago(at) : "";
}

function Content({ message }) {
  const { payload = {}, type } = message || {};
  const text = String(payload.text || payload.caption || payload.title || "").slice(0, 1500);
  const link = String(payload.link || payload.media || payload.audio || "").slice(0, 500);
  return html`${type !== "text" && html`<span class="quiet">${type}</span> `}<span class="said" dir="auto">${text}</span
    >${link && html` <span class="mono">${link}</span>`}`;
}
