// The items of a batch.
import { useEffect, useRef, useState } from "preact/hooks";
import { filled, get, query } from "../data/api.js";
import { as, csv, itemsOf, itemStates, pathOf, save } from "../data/talk.js";
import { named } from "../data/messages.js";
import { html } from "../html.js";
import { Icon } from "../ui/icon.js";
import { Button, Empty, Loading, Search, Trouble } from "../ui/parts.js";
import { Windowed } from "../ui/windowed.js";
import { ago, many, moment, number, t } from "../words.js";

// useItems loads the matching items page by page. While the batch runs, it reloads the visible
// ones periodically.
function useItems(batch, status, recipient) {
  const [state, setState] = useState({ list: null, next: null, total: null, error: null });
  const turn = useRef(0),
    busy = useRef(false);
  const ask = (limit, nextCursor) =>
    get(pathOf(batch.id) + "/items" + query({ status, recipient, limit, nextCursor }), as(batch.ownerUserId));
  const load = async () => {
    const mine = ++turn.current;
    try {
      const page = await filled(
        (at) => ask(100, at),
        undefined,
        () => mine === turn.current,
      );
      if (mine === turn.current)
        setState({ list: page.records, next: page.nextCursor, total: page.totalRecords, error: null });
    } catch (error) {
      if (mine === turn.current) setState((before) => ({ ...before, error }));
    }
  };
  const more = async () => {
    if (busy.current || !state.next) return;
    const mine = turn.current;
    busy.current = true;
    try {
      const page = await filled(
        (at) => ask(200, at),
        state.next,
        () => mine === turn.current,
      );
      if (mine === turn.current)
        setState((before) => ({ ...before, list: [...before.list, ...page.records], next: page.nextCursor }));
    } catch (error) {
      setState((before) => ({ ...before, error }));
    } finally {
      busy.current = false;
    }
  };
  useEffect(() => {
    const timer = setTimeout(load, recipient ? 250 : 0);
    return () => {
      clearTimeout(timer);
      turn.current++;
    };
  }, [batch.id, status, recipient]);
  const first = useRef(true),
    due = useRef(0),
    latest = useRef(load);
  latest.current = load;
  useEffect(() => {
    // the batch changed: at most once a second, and only on the first page
    if (first.current) return void (first.current = false);
    if (!due.current && (state.list?.length ?? 0) <= 100)
      due.current = setTimeout(() => {
        due.current = 0;
        latest.current();
      }, 1000);
  }, [batch]);
  useEffect(() => () => clearTimeout(due.current), []);
  return { ...state, load, more };
}

const drawItem = (item) => {
  const [tone, icon] = itemStates[item.status] || ["off", "info"];
  const why = [item.lastErrorCode, item.lastErrorMessage].filter(Boolean).join(": ");
  return html`<div role="cell" class="cell">
      <span class="figures one-line"><bdi>+${item.normalizedRecipient}</bdi></span>
    </div>
    <div role="cell" class="cell">
      <span class=${"state " + tone}
        ><${Icon} name=${icon} /><span>${itemStates[item.status] ? t("item." + item.status) : item.status}</span></span
      >
    </div>
    <div role="cell" class="cell why">
      <span class="one-line quiet" title=${why}><bdi>${why}</bdi></span>
    </div>
    <div role="cell" class="cell wide-only">
      <span class="one-line quiet">${item.selectedInstanceName || "–"}</span>
    </div>
    <div role="cell" class="cell wide-only">
      <span class="one-line quiet" title=${item.finishedAt ? moment(item.finishedAt) : ""}
        >${item.finishedAt ? ago(item.finishedAt) : "–"}</span
      >
    </div>`;
};

export function Items({ batch }) {
  const [status, setStatus] = useState("");
  const [recipient, setRecipient] = useState("");
  const [exported, setExported] = useState(null);
  const [error, setError] = useState(null);
  const { counts } = batch;
  const items = useItems(batch, status, recipient.replace(/[^\d]/g, ""));
  const out = async () => {
    setError(null);
    const stop = new AbortController();
    setExported({ n: 0, stop });
    try {
      const all = await itemsOf(batch, status, (n) => setExported({ n, stop }), stop.signal);
      const rows = all.map((one) => [
        one.position + 1,
        one.recipientInput,
        one.normalizedRecipient,
        one.status,
        one.selectedInstanceName,
        one.attemptCount,
        one.lastErrorCode,
        one.lastErrorMessage,
        one.whatsappMessageId,
        one.finishedAt,
      ]);
      save(
        "batch-" +
          named(batch.name)
            .replace(/[^\p{L}\p{N}._-]+/gu, "-")
            .slice(0, 60) +
          ".csv",
        csv([
          [
            "position",
            "recipient",
            "number",
            "status",
            "instance",
            "attempts",
            "errorCode",
            "error",
            "whatsappMessageId",
            "finishedAt",
          ],
          ...rows,
        ]),
      );
    } catch (reason) {
      if (!stop.signal.aborted) setError(reason);
    } finally {
      setExported(null);
    }
  };
  const of = {
    SUCCESS: counts.success,
    FAILED: counts.failed,
    UNKNOWN: counts.unknown,
    SKIPPED: counts.skipped,
    SENDING: counts.sending,
    PENDING: counts.pending,
  };
  const scrolled = (event) => {
    if (event.target.scrollTop + event.target.clientHeight > event.target.scrollHeight - 600) items.more();
  };
  return html`<section class="card items">
    <header>
      <h2>${t("items.title")}</h2>
      <div class="buttons">
        ${exported
          ? html`<span class="quiet figures" role="status">${many("items.read", exported.n)}</span
              ><${Button}
                kind="small"
                word=${t("cancel")}
                act=${() => {
                  exported.stop.abort();
                }}
              />`
          : html`<${Button} kind="small" icon="save" word=${t("items.export")} act=${out} />`}
      </div>
    </header>
    <div class="toolbar">
      <${Search} word=${t("items.search")} value=${recipient} on=${setRecipient} wide inputmode="tel" />
      <div class="filters" role="group" aria-label=${t("instances.filter")}>
        <button type="button" class="filter" aria-pressed=${String(!status)} onClick=${() => setStatus("")}>
          ${t("group.all")}<span class="figures">${number(counts.total)}</span>
        </button>
        ${Object.keys(of).map(
          (one) =>
            (of[one] > 0 || one === status) &&
            html`<button
              key=${one}
              type="button"
              class=${"filter " + itemStates[one][0]}
              aria-pressed=${String(status === one)}
              onClick=${() => setStatus(status === one ? "" : one)}
            >
              <${Icon} name=${itemStates[one][1]} />${t("item." + one)}<span class="figures">${number(of[one])}</span>
            </button>`,
        )}
      </div>
    </div>
    ${error && html`<${Trouble} error=${error} again=${out} />`}${items.error
      ? html`<${Trouble} error=${items.error} again=${items.load} />`
      : !items.list
        ? html`<${Loading} />`
        : !items.list.length
          ? html`<${Empty} icon="search" title=${t("instances.none")} />`
          : html`<div
              class="items-list"
              data-scrolls
              onScroll=${scrolled}
              tabindex="0"
              role="region"
              aria-label=${t("items.title")}
            >
              <${Windowed}
                items=${items.list}
                height=${2.75}
                keyOf=${(one) => one.id}
                label=${t("items.title")}
                draw=${drawItem}
              />
            </div>`}
  </section>`;
}
