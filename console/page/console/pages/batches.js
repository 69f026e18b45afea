// The list of batches with their progress, and the page of one batch with its actions and
// recipients.
import { useCallback, useEffect, useMemo, useRef, useState } from "preact/hooks";
import { call, filled, get } from "../data/api.js";
import { act, again, allows, as, ended, filters, listOf, pathOf, states, uuid } from "../data/talk.js";
import { named } from "../data/messages.js";
import { useCell } from "../data/cell.js";
import { onLive, onReload } from "../data/live.js";
import { session } from "../data/session.js";
import { troubles } from "../data/troubles.js";
import { html } from "../html.js";
import { choose, go, to } from "../router.js";
import { confirm, toast, useTitle } from "../ui/float.js";
import { Icon } from "../ui/icon.js";
import { Button, Empty, Loading, Notice, Search, Trouble } from "../ui/parts.js";
import { Crumb } from "../ui/sheet.js";
import { Windowed } from "../ui/windowed.js";
import { ago, many, moment, number, seconds, span, t } from "../words.js";
import { NewBatch } from "./batch_new.js";
import { Items } from "./batch_items.js";

export function Batches({ parts, query }) {
  if (parts[0] === "new") return html`<${NewBatch} owner=${query.get("user") || ""} step=${query.get("step")} />`;
  if (parts[0]) return html`<${Batch} key=${parts[0]} id=${parts[0]} owner=${query.get("user") || ""} />`;
  return html`<${List} query=${query} />`;
}

// useBatches loads the matching batches page by page and keeps them up to date.
function useBatches(values) {
  const asked = listOf({ ...values, limit: 100 });
  const [state, setState] = useState({ list: null, next: null, total: null, error: null });
  const busy = useRef(false),
    turn = useRef(0);
  const load = useCallback(
    async (nextCursor) => {
      if (nextCursor && busy.current) return;
      const mine = nextCursor ? turn.current : ++turn.current;
      busy.current = true;
      try {
        const page = await filled(
          (at) => get(listOf({ ...values, limit: 100, nextCursor: at })),
          nextCursor,
          () => mine === turn.current,
        );
        if (mine !== turn.current) return;
        setState((before) => ({
          list: nextCursor ? [...before.list, ...page.records] : page.records,
          next: page.nextCursor,
          total: page.totalRecords,
          error: null,
        }));
      } catch (error) {
        if (mine === turn.current) setState((before) => ({ ...before, error }));
      } finally {
        busy.current = false;
      }
    },
    [asked],
  );
  useEffect(() => {
    const timer = setTimeout(load, 150); // while the user types
    const ends = [
      onReload(() => load()),
      onLive("batch", ({ batch }) =>
        setState((before) => {
          if (!before.list) return before;
          const at = before.list.findIndex((one) => one.id === batch.id);
          if (at >= 0) return { ...before, list: before.list.with(at, batch) };
          const fits =
            (!values.status || values.status.includes(batch.status)) &&
            (!values.query || batch.name.toLowerCase().includes(values.query.toLowerCase())) &&
            (!values.ownerUserId || values.ownerUserId === batch.ownerUserId) &&
            (!values.instanceName || batch.instances.some((one) => one.name === values.instanceName));
          const newest = !before.list.length || batch.createdAt >= before.list[0].createdAt;
          return fits && newest
            ? { ...before, list: [batch, ...before.list], total: before.total === null ? null : before.total + 1 }
            : before;
        }),
      ),
      onLive("batchDeleted", ({ id }) =>
        setState((before) => (before.list ? { ...before, list: before.list.filter((one) => one.id !== id) } : before)),
      ),
    ];
    return () => {
      clearTimeout(timer);
      turn.current++;
      ends.forEach((end) => end());
    };
  }, [load]);
  return { ...state, load, more: () => state.next && load(state.next) };
}

// inTrouble are the states of batches that a kind of trouble is about.
const inTrouble = { BATCH_STUCK: ["WAITING_FOR_INSTANCE"], BATCH_FAILING: filters.running };

const over = { count: 0, subjects: [] };

function List({ query }) {
  useTitle(t("nav.batches"));
  const { operator } = useCell(session);
  const wanted = query.get("q") || "",
    group = filters[query.get("state")] ? query.get("state") : "",
    user = query.get("user") || "",
    instance = query.get("instance") || "",
    trouble = query.get("trouble") || "";
  const wrongUser = user && !uuid.test(user);
  const within = useCell(troubles, ({ items }) => items && (items.find((one) => one.kind === trouble) || over));
  const {
    list: all,
    error,
    load,
    more,
    next,
    total,
  } = useBatches({
    query: wanted.trim().slice(0, 255),
    status: filters[group] || inTrouble[trouble],
    ownerUserId: wrongUser ? "" : user,
    instanceName: instance,
  });
  const list = useMemo(
    () =>
      all && trouble && within && within.count === within.subjects.length
        ? all.filter((one) => within.subjects.some((of) => of.id === one.id))
        : all,
    [all, trouble, within],
  );
  const end = useRef(null),
    latest = useRef(more);
  latest.current = more;
  useEffect(() => {
    if (!end.current) return;
    const watch = new IntersectionObserver(([entry]) => entry.isIntersecting && latest.current(), {
      rootMargin: "400px",
    });
    watch.observe(end.current);
    return () => watch.disconnect();
  }, [next, !list]);
  const owners = useMemo(() => [...new Set((list || []).map((one) => one.ownerUserId))].slice(0, 20), [list]);
  const running = (list || []).filter((one) => filters.running.includes(one.status)).length;
  const some = list?.length > 0,
    narrowed = wanted || group || user || instance || trouble;
  const fresh = html`<a class="button first" href=${to(["batches", "new"], { user })}
    ><${Icon} name="plus" />${t("batches.new")}</a
  >`;
  return html`<div class="page-head">
      <div>
        <${Crumb} instance=${instance} />
        <h1 tabindex="-1">${t("nav.batches")}</h1>
        <p class="lead">
          ${some ? (running ? many("batches.running", running) : t("batches.quiet")) : t("batches.lead")}
        </p>
      </div>
      ${(some || narrowed) && html`<div class="buttons">${fresh}</div>`}
    </div>
    ${(some || narrowed || error) &&
    html`<div class="toolbar">
      <${Search} word=${t("batches.search")} value=${wanted} on=${(text) => choose({ q: text })} wide />
      ${operator &&
      html`<div class="user">
        <input
          class=${"input code"}
          list="owners"
          spellcheck=${false}
          autocomplete="off"
          placeholder=${t("batches.user")}
          aria-label=${t("batches.user")}
          aria-invalid=${wrongUser ? "true" : undefined}
          value=${user}
          onInput=${(event) => choose({ user: event.target.value.trim() })}
        /><datalist id="owners">${owners.map((one) => html`<option key=${one} value=${one} />`)}</datalist>
      </div>`}
      ${trouble &&
      html`<button type="button" class="filter bad" aria-pressed="true" onClick=${() => choose({ trouble: "" })}>
        ${t("instances.trouble")}<${Icon} name="close" />
      </button>`}
      ${instance &&
      html`<button type="button" class="filter" aria-pressed="true" onClick=${() => choose({ instance: "" })}>
        ${instance}<${Icon} name="close" />
      </button>`}
      <div class="filters" role="group" aria-label=${t("instances.filter")}>
        ${["", ...Object.keys(filters)].map(
          (one) =>
            html`<button
              key=${one}
              type="button"
              class="filter"
              aria-pressed=${String(group === one)}
              onClick=${() => choose({ state: one })}
            >
              ${t("batches.is." + (one || "all"))}
            </button>`,
        )}
      </div>
    </div>`}
    ${error
      ? html`<${Trouble} error=${error} again=${() => load()} />`
      : !list
        ? html`<${Loading} />`
        : !some
          ? narrowed
            ? html`<${Empty} icon="search" title=${t("instances.none")} />`
            : html`<div class="card">
                <${Empty} icon="batches" title=${t("batches.none")} buttons=${fresh}>${t("batches.noneText")}<//>
              </div>`
          : html`<p class="unseen" role="status">${total !== null && many("batches.found", total)}</p>
              <div class="list batches">
                <${Windowed}
                  items=${list}
                  height=${4.5}
                  keyOf=${(one) => one.id}
                  label=${t("nav.batches")}
                  draw=${drawRow}
                />
              </div>
              <div ref=${end} class="more">${next && html`<span class="wheel"></span>`}</div>`}`;
}

const drawRow = (batch) => html`<${Row} batch=${batch} />`;

function BatchState({ of, pill }) {
  const [tone, icon] = states[of] || ["off", "info"];
  return html`<span class=${"state " + tone + (pill ? " pill" : "")}
    ><${Icon} name=${icon} /><span>${states[of] ? t("batch.state." + of) : of}</span></span
  >`;
}

// Bar shows the progress of a batch: sent, failed and remaining recipients.
function Bar({ counts }) {
  const parts = [
    ["good", counts.success],
    ["bad", counts.failed + counts.unknown],
    ["skipped", counts.skipped],
  ];
  return html`<div
    class="batch-bar"
    role="img"
    aria-label=${t("batch.of", { done: number(counts.processed), of: number(counts.total) })}
  >
    ${parts.map(
      ([tone, n]) =>
        n > 0 && html`<span key=${tone} class=${tone} style=${{ width: (n / counts.total) * 100 + "%" }}></span>`,
    )}
  </div>`;
}

function Row({ batch }) {
  const { counts } = batch,
    bad = counts.failed;
  return html`<div role="cell" class="cell name">
      <a
        class="plain one-line"
        href=${to(["batches", batch.id], { user: session.value.operator && batch.ownerUserId })}
        title=${batch.name}
        ><bdi>${named(batch.name) || t("batch.unnamed")}</bdi></a
      >
      <span class="quiet one-line"
        >${batch.instances
          .map((one) => one.name)
          .slice(0, 3)
          .join(", ")}${batch.instances.length > 3 ? " +" + number(batch.instances.length - 3) : ""}</span
      >
    </div>
    <div role="cell" class="cell"><${BatchState} of=${batch.status} /></div>
    <div role="cell" class="cell progress">
      <${Bar} counts=${counts} /><span class="figures quiet one-line"
        >${t("batch.of", { done: number(counts.processed), of: number(counts.total) })}${bad > 0 &&
        html` · <span class="bad-text">${many("batch.bad", bad)}</span>`}</span
      >
    </div>
    <div role="cell" class="cell wide-only">
      <span class="quiet one-line" title=${moment(batch.createdAt)}>${ago(batch.createdAt)}</span>
    </div>`;
}

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

function Batch({ id, owner }) {
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
