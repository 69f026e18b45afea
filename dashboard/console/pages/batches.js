// All batches: what is being sent, how far it is, and the way to a new one.
import { useCallback, useEffect, useMemo, useRef, useState } from "preact/hooks";
import { get } from "../data/api.js";
import { useCell } from "../data/cell.js";
import { filters, listOf, states } from "../data/batches.js";
import { onLive, onReload } from "../data/live.js";
import { named } from "../data/messages.js";
import { session } from "../data/session.js";
import { html } from "../html.js";
import { choose, to } from "../router.js";
import { useTitle } from "../ui/float.js";
import { Icon } from "../ui/icon.js";
import { Empty, Loading, Trouble } from "../ui/parts.js";
import { Windowed } from "../ui/windowed.js";
import { ago, many, moment, number, t } from "../words.js";
import Batch from "./batch.js";
import NewBatch from "./batch_new.js";

export default function Batches({ parts, query }) {
  if (parts[0] === "new") return html`<${NewBatch} owner=${query.get("user") || ""}/>`;
  if (parts[0]) return html`<${Batch} key=${parts[0]} id=${parts[0]} owner=${query.get("user") || ""}/>`;
  return html`<${List} query=${query}/>`;
}

const uuid = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i;

// useBatches are the batches that fit, page by page, kept as they are now.
function useBatches(values) {
  const asked = listOf({ ...values, limit: 100 });
  const [state, setState] = useState({ list: null, next: null, total: null, error: null });
  const busy = useRef(false), turn = useRef(0);
  const load = useCallback(async (nextCursor) => {
    if (nextCursor && busy.current) return;
    const mine = nextCursor ? turn.current : ++turn.current;
    busy.current = true;
    try {
      const page = await get(listOf({ ...values, limit: 100, nextCursor }));
      if (mine !== turn.current) return;
      setState((before) => ({ list: nextCursor ? [...before.list, ...page.records] : page.records, next: page.nextCursor, total: page.totalRecords, error: null }));
    } catch (error) {
      if (mine === turn.current) setState((before) => ({ ...before, error }));
    } finally {
      busy.current = false;
    }
  }, [asked]);
  useEffect(() => {
    const timer = setTimeout(load, 150); // while somebody types
    const ends = [onReload(() => load()), onLive("batch", ({ batch }) => setState((before) => {
      if (!before.list) return before;
      const at = before.list.findIndex((one) => one.id === batch.id);
      if (at >= 0) return { ...before, list: before.list.with(at, batch) };
      const fits = (!values.status || values.status.includes(batch.status)) && (!values.query || batch.name.toLowerCase().includes(values.query.toLowerCase())) && (!values.ownerUserId || values.ownerUserId === batch.ownerUserId);
      const newest = !before.list.length || batch.createdAt >= before.list[0].createdAt;
      return fits && newest ? { ...before, list: [batch, ...before.list], total: before.total === null ? null : before.total + 1 } : before;
    })), onLive("batchDeleted", ({ id }) => setState((before) => before.list ? { ...before, list: before.list.filter((one) => one.id !== id) } : before))];
    return () => { clearTimeout(timer); turn.current++; ends.forEach((end) => end()); };
  }, [load]);
  return { ...state, load, more: () => state.next && load(state.next) };
}

function List({ query }) {
  useTitle(t("nav.batches"));
  const { operator } = useCell(session);
  const wanted = query.get("q") || "", group = filters[query.get("state")] ? query.get("state") : "", user = query.get("user") || "";
  const wrongUser = user && !uuid.test(user);
  const { list, error, load, more, next, total } = useBatches({ query: wanted.trim().slice(0, 255), status: filters[group], ownerUserId: wrongUser ? "" : user });
  const end = useRef(null), latest = useRef(more);
  latest.current = more;
  useEffect(() => {
    if (!end.current) return;
    const watch = new IntersectionObserver(([entry]) => entry.isIntersecting && latest.current(), { rootMargin: "400px" });
    watch.observe(end.current);
    return () => watch.disconnect();
  }, [next, !list]);
  const owners = useMemo(() => [...new Set((list || []).map((one) => one.ownerUserId))].slice(0, 20), [list]);
  const running = (list || []).filter((one) => filters.running.includes(one.status)).length;
  const some = list?.length > 0, narrowed = wanted || group || user;
  const fresh = html`<a class="button first" href=${to(["batches", "new"], { user })}><${Icon} name="plus"/>${t("batches.new")}</a>`;
  return html`<div class="page-head"><div><h1 tabindex="-1">${t("nav.batches")}</h1><p class="lead">${some ? running ? many("batches.running", running) : t("batches.quiet") : t("batches.lead")}</p></div>
      ${(some || narrowed) && html`<div class="buttons">${fresh}</div>`}</div>
    ${(some || narrowed || error) && html`<div class="toolbar">
      <div class="with-icon search"><${Icon} name="search"/><input class="input" type="search" placeholder=${t("batches.search")} aria-label=${t("batches.search")} value=${wanted} onInput=${(event) => choose({ q: event.target.value })}/></div>
      ${operator && html`<div class="user"><input class=${"input code"} list="owners" spellcheck=${false} autocomplete="off" placeholder=${t("batches.user")} aria-label=${t("batches.user")} aria-invalid=${wrongUser ? "true" : undefined} value=${user} onInput=${(event) => choose({ user: event.target.value.trim() })}/><datalist id="owners">${owners.map((one) => html`<option key=${one} value=${one}/>`)}</datalist></div>`}
      <div class="filters" role="group" aria-label=${t("instances.filter")}>${["", ...Object.keys(filters)].map((one) => html`<button key=${one} type="button" class="filter" aria-pressed=${String(group === one)} onClick=${() => choose({ state: one })}>${t("batches.is." + (one || "all"))}</button>`)}</div></div>`}
    ${error ? html`<${Trouble} error=${error} again=${() => load()}/>` : !list ? html`<${Loading}/>` : !some ? narrowed ? html`<${Empty} icon="search" title=${t("instances.none")}/>` :
      html`<div class="card"><${Empty} icon="batches" title=${t("batches.none")} buttons=${fresh}>${t("batches.noneText")}<//></div>` : html`
      <p class="unseen" role="status">${total !== null && many("batches.found", total)}</p>
      <div class="list batches"><${Windowed} items=${list} height=${4.5} keyOf=${(one) => one.id} label=${t("nav.batches")} draw=${drawRow}/></div><div ref=${end} class="more">${next && html`<span class="wheel"></span>`}</div>`}`;
}

const drawRow = (batch) => html`<${Row} batch=${batch}/>`;

export function BatchState({ of, pill }) {
  const [tone, icon] = states[of] || ["off", "info"];
  return html`<span class=${"state " + tone + (pill ? " pill" : "")}><${Icon} name=${icon}/><span>${states[of] ? t("batch.state." + of) : of}</span></span>`;
}

// Bar is how far a batch is: who was reached, who was not, and who is still to come.
export function Bar({ counts }) {
  const parts = [["good", counts.success], ["bad", counts.failed + counts.unknown], ["skipped", counts.skipped]];
  return html`<div class="batch-bar" role="img" aria-label=${t("batch.of", { done: number(counts.processed), of: number(counts.total) })}>${parts.map(([tone, n]) => n > 0 && html`<span key=${tone} class=${tone} style=${{ width: n / counts.total * 100 + "%" }}></span>`)}</div>`;
}

function Row({ batch }) {
  const { counts } = batch, bad = counts.failed;
  return html`<div role="cell" class="cell name"><a class="plain one-line" href=${to(["batches", batch.id], { user: session.value.operator && batch.ownerUserId })} title=${batch.name}><bdi>${named(batch.name) || t("batch.unnamed")}</bdi></a>
      <span class="quiet one-line">${batch.instances.map((one) => one.name).slice(0, 3).join(", ")}${batch.instances.length > 3 ? " +" + number(batch.instances.length - 3) : ""}</span></div>
    <div role="cell" class="cell"><${BatchState} of=${batch.status}/></div>
    <div role="cell" class="cell progress"><${Bar} counts=${counts}/><span class="figures quiet one-line">${t("batch.of", { done: number(counts.processed), of: number(counts.total) })}${bad > 0 && html` · <span class="bad-text">${many("batch.bad", bad)}</span>`}</span></div>
    <div role="cell" class="cell wide-only"><span class="quiet one-line" title=${moment(batch.createdAt)}>${ago(batch.createdAt)}</span></div>`;
}
