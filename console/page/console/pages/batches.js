// The list of batches with their progress.
import { useCallback, useEffect, useMemo, useRef, useState } from "preact/hooks";
import { filled, get } from "../data/api.js";
import { filters, listOf, uuid } from "../data/talk.js";
import { named } from "../data/messages.js";
import { useCell } from "../data/cell.js";
import { onLive, onReload } from "../data/live.js";
import { session } from "../data/session.js";
import { troubles } from "../data/troubles.js";
import { html } from "../html.js";
import { choose, to } from "../router.js";
import { useTitle } from "../ui/float.js";
import { Icon } from "../ui/icon.js";
import { Empty, Loading, Search, Trouble } from "../ui/parts.js";
import { Crumb } from "../ui/sheet.js";
import { Windowed } from "../ui/windowed.js";
import { ago, many, moment, number, t } from "../words.js";
import { NewBatch } from "./batch_new.js";
import { Batch } from "./batch_one.js";
import { Bar, BatchState } from "./batch_state.js";

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
