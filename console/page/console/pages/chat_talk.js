// One chat: a window of its messages, live messages and the composer. Message content is
// untrusted: it is shown as text, and a file only as a type that cannot run.
import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { call, get, instancePath, query } from "../data/api.js";
import { about } from "../data/messages.js";
import { folded, once } from "../data/talk.js";
import { can } from "../data/session.js";
import { html } from "../html.js";
import { to } from "../router.js";
import { Icon } from "../ui/icon.js";
import { Button, Empty, Loading, Search, Trouble } from "../ui/parts.js";
import { language, many, t } from "../words.js";
import { Composer } from "./chat_compose.js";
import { Message } from "./chat_message.js";

const keptPages = 5; // of 50 messages; further ones are reloaded when scrolled to
const near = 500; // distance in pixels from an end at which more is loaded

// usePages keeps a few adjacent pages of a chat's messages, newest first. At the live end the
// newest page comes first.
function usePages(name, jid) {
  const path = instancePath(name) + "/chats/" + encodeURIComponent(jid) + "/messages";
  const [state, setState] = useState({ pages: null, error: null, missed: 0 });
  const busy = useRef(false),
    latest = useRef(state);
  latest.current = state;
  const guarded = async (work) => {
    if (busy.current) return;
    busy.current = true;
    try {
      await work();
    } catch (error) {
      setState((before) => ({ ...before, error }));
    } finally {
      busy.current = false;
    }
  };
  const load = useCallback(
    () =>
      guarded(async () => {
        const page = await get(path + "?limit=50");
        setState({ pages: [page], error: null, missed: 0 });
      }),
    [path],
  );
  useEffect(() => {
    load();
  }, [load]);
  const pages = state.pages;
  const older = () =>
    pages?.at(-1)?.nextCursor &&
    guarded(async () => {
      const page = await get(path + query({ limit: 50, nextCursor: pages.at(-1).nextCursor }));
      setState((before) => ({ ...before, error: null, pages: [...before.pages, page].slice(-keptPages) }));
    });
  const atEnd = !pages?.[0]?.previousCursor;
  const newer = () =>
    pages &&
    !atEnd &&
    guarded(async () => {
      const page = await get(path + query({ limit: 50, previousCursor: pages[0].previousCursor }));
      setState((before) => ({
        ...before,
        error: null,
        pages: page.records.length
          ? [page, ...before.pages].slice(0, keptPages)
          : [{ ...before.pages[0], previousCursor: null }, ...before.pages.slice(1)],
        ...(page.previousCursor ? {} : { missed: 0 }),
      }));
    });
  // put adds a received message or one sent here.
  const put = (message) => {
    setState((before) => added(before, message));
    if (latest.current.pages?.[0].records.length > 150) load(); // bound the size
  };
  const update = ({ messageId, status, dateTime }) =>
    setState((before) =>
      before.pages
        ? {
            ...before,
            pages: before.pages.map((page) =>
              page.records.some((one) => one.id === messageId)
                ? {
                    ...page,
                    records: page.records.map((one) =>
                      one.id === messageId
                        ? { ...one, messageUpdates: [...(one.messageUpdates || []), { status, dateTime }] }
                        : one,
                    ),
                  }
                : page,
            ),
          }
        : before,
    );
  return { ...state, atEnd, load, older, newer, put, update };
}

// added returns the state with a new message: shown at the live end, counted elsewhere.
function added(before, message) {
  if (!before.pages || before.pages.some((page) => page.records.some((one) => one.id === message.id))) return before;
  const [first, ...rest] = before.pages;
  if (first.previousCursor) return { ...before, missed: before.missed + 1 };
  return { ...before, pages: [{ ...first, records: [{ messageUpdates: [], ...message }, ...first.records] }, ...rest] };
}

export function Talk({ name, chat, online, live, heard, sent }) {
  const talk = usePages(name, chat.jid);
  const [mine, setMine] = useState([]); // pending or failed messages
  const [reply, setReply] = useState(null);
  const [wanted, setWanted] = useState(null); // the search text, null without a search
  const [active, setActive] = useState(null);
  const box = useRef(null),
    composer = useRef(null);
  const path = instancePath(name);

  heard.current = (event, data) => {
    if (event === "again") return talk.load();
    if (event === "messages.update") return talk.update(data);
    if (data?.keyRemoteJid === chat.jid || (data?.keyLid && data.keyLid === (chat.lid || chat.jid))) talk.put(data);
  };
  useEffect(
    () => () => {
      heard.current = null;
    },
    [],
  );

  // send calls make with an idempotency key and keeps a failed message for a retry.
  const send = async (shown, make) => {
    const one = { id: "new-" + once(), keyFromMe: true, messageTimestamp: Date.now() / 1000, sending: true, ...shown };
    const go = async () => {
      setMine((all) => [...all.filter((other) => other.id !== one.id), { ...one, again: go }]);
      try {
        const message = await make({ "Idempotency-Key": one.id });
        setMine((all) => all.filter((other) => other.id !== one.id));
        talk.put(message);
        sent(message);
      } catch (error) {
        setMine((all) =>
          all.map((other) => (other.id === one.id ? { ...other, sending: false, failed: error, again: go } : other)),
        );
      }
    };
    follow.current = true;
    if (!talk.atEnd) await talk.load();
    return go();
  };
  const react = async (message, reaction) => {
    const key = {
      remoteJid: message.keyRemoteJid,
      id: message.keyId,
      fromMe: message.keyFromMe,
      ...(message.isGroup && !message.keyFromMe && message.keyParticipant && { participant: message.keyParticipant }),
    };
    talk.put(
      await call(
        "POST",
        path + "/send/reaction",
        { chat: chat.jid, reactionMessage: { key, reaction } },
        { headers: { "Idempotency-Key": once() }, patience: 60000 },
      ),
    );
  };
  const answer = (message) => {
    setReply(message);
    composer.current?.focus();
  };
  const drop = (id) => setMine((all) => all.filter((one) => one.id !== id));

  const list = useMemo(() => folded((talk.pages || []).flatMap((page) => page.records).reverse()), [talk.pages]);
  /** @type {any[]} */
  const rows = useMemo(
    () => [...list, ...(talk.atEnd ? mine.map((message) => ({ message })) : [])],
    [list, mine, talk.atEnd],
  );

  // Keep the visible messages in place when others are inserted above; at the end follow it.
  const follow = useRef(true),
    held = useRef(null),
    turn = useRef(0);
  const holds = () => {
    const top = box.current.getBoundingClientRect().top;
    const one = [...box.current.querySelectorAll("[data-id]")].find((li) => li.getBoundingClientRect().bottom > top);
    held.current = one && [one.dataset.id, one.getBoundingClientRect().top - top];
  };
  useLayoutEffect(() => {
    if (!box.current || !rows.length) return;
    if (follow.current && talk.atEnd) box.current.scrollTop = box.current.scrollHeight;
    else if (held.current) {
      const one = [...box.current.querySelectorAll("[data-id]")].find((li) => li.dataset.id === held.current[0]);
      if (one)
        box.current.scrollTop +=
          one.getBoundingClientRect().top - box.current.getBoundingClientRect().top - held.current[1];
    }
    if (box.current.scrollHeight <= box.current.clientHeight + near) talk.older();
  }, [rows, wanted === null]);
  const scrolled = () => {
    cancelAnimationFrame(turn.current);
    turn.current = requestAnimationFrame(() => {
      const at = box.current;
      if (!at) return;
      follow.current = at.scrollHeight - at.scrollTop - at.clientHeight < 60;
      holds();
      if (at.scrollTop < near) talk.older();
      if (at.scrollHeight - at.scrollTop - at.clientHeight < near) talk.newer();
    });
  };
  const loaded = () => {
    if (follow.current && box.current) box.current.scrollTop = box.current.scrollHeight;
  };
  const toEnd = async () => {
    follow.current = true;
    await talk.load();
    loaded();
  };
  const keys = (event) => {
    const step = { ArrowUp: -1, ArrowDown: 1 }[event.key],
      li = event.target.closest("[data-id]");
    if (!step || !li || event.defaultPrevented || event.target.closest("[role=menu], video, audio")) return;
    event.preventDefault();
    let next = li;
    do next = step < 0 ? next.previousElementSibling : next.nextElementSibling;
    while (next && !next.dataset.id);
    next?.focus();
    next?.scrollIntoView({ block: "nearest" });
  };
  const at = useRef({});
  at.current = {
    react,
    answer,
    drop,
    loaded,
    name,
    group: chat.isGroup,
    can: { send: can("send"), media: can("media") },
    setActive,
  };

  const last = rows.at(-1)?.message.id;
  const current = rows.some(({ message }) => message.id === active) ? active : last;
  return html`<section class="talk" aria-label=${t("talk.with", { name: chat.shown })}>
    <header>
      <a
        class="button bare square narrow-back"
        href=${to(["chats", name])}
        aria-label=${t("chats.back")}
        title=${t("chats.back")}
        ><${Icon} name="left"
      /></a>
      <div>
        <h2 class="one-line"><bdi>${chat.shown}</bdi></h2>
        <p class="quiet one-line">${chat.jid}</p>
      </div>
      <span class=${"pulse " + (live ? "good" : "busy")}
        ><span class="dot"></span><span class="unseen">${t(live ? "talk.live" : "talk.dead")}</span></span
      >
      <${Button}
        kind="bare square"
        icon=${wanted === null ? "search" : "close"}
        word=${t(wanted === null ? "talk.search" : "talk.searchEnd")}
        aria-expanded=${String(wanted !== null)}
        act=${() => {
          setWanted(wanted === null ? "" : null);
        }}
      />
    </header>
    ${wanted !== null
      ? html`<${Found}
          path=${path + "/chats/" + encodeURIComponent(chat.jid) + "/messages"}
          wanted=${wanted}
          on=${setWanted}
          at=${at}
        />`
      : html`<div
            class="talk-box"
            ref=${box}
            tabindex="0"
            role="log"
            aria-busy=${String(!talk.pages)}
            aria-label=${t("talk.messages")}
            onScroll=${scrolled}
            onKeyDown=${keys}
          >
            <ol>
              ${talk.pages?.at(-1)?.nextCursor &&
              html`<li class="talk-more" key="older"><span class="wheel"></span></li>`}${rows.map(
                ({ message, more }, i) => [
                  day(rows[i - 1]?.message, message),
                  html`<${Message}
                    key=${message.id}
                    message=${message}
                    more=${more}
                    at=${at}
                    active=${message.id === current}
                    spoken=${language.value}
                    first=${rows[i - 1]?.message.keyFromMe !== message.keyFromMe ||
                    rows[i - 1]?.message.keyParticipant !== message.keyParticipant}
                  />`,
                ],
              )}
            </ol>
            ${!talk.pages && !talk.error && html`<${Loading} />`}${talk.pages &&
            !rows.length &&
            html`<${Empty} icon="chats" title=${t("talk.empty")} />`}
          </div>
          ${talk.error &&
          html`<div class="talk-note"><${Trouble} error=${talk.error} again=${talk.load} /></div>`}${!talk.atEnd &&
          html`<div class="talk-note">
            <${Button}
              kind="small"
              icon="down"
              word=${talk.missed ? many("talk.missed", talk.missed) : t("talk.end")}
              act=${toEnd}
            />
          </div>`}`}
    ${can("send")
      ? html`<${Composer}
          chat=${chat}
          path=${path}
          online=${online}
          send=${send}
          reply=${reply}
          setReply=${setReply}
          field=${composer}
        />`
      : html`<p class="talk-note quiet">${t("talk.readOnly")}</p>`}
  </section>`;
}

// day is the separator between two days.
function day(before, message) {
  const at = new Date((message.messageTimestamp || 0) * 1000);
  if (before && new Date((before.messageTimestamp || 0) * 1000).toDateString() === at.toDateString()) return null;
  return html`<li class="talk-day" key=${"day-" + message.id}>
    <time
      >${at.toLocaleDateString(language.value, {
        weekday: "long",
        day: "numeric",
        month: "long",
        year: "numeric",
      })}</time
    >
  </li>`;
}

// Found lists the messages that contain a text.
function Found({ path, wanted, on, at }) {
  const [state, setState] = useState({ list: [], next: null, busy: false, done: false, error: null });
  const turn = useRef(0),
    text = wanted.trim().slice(0, 255);
  const look = async (next, mine) => {
    setState((before) => ({ ...before, busy: true, error: null }));
    try {
      const page = await get(path + query({ query: text, limit: 50, nextCursor: next }), { patience: 60000 });
      if (mine === turn.current)
        setState((before) => ({
          list: [...(next ? before.list : []), ...page.records],
          next: page.nextCursor,
          busy: false,
          done: true,
          error: null,
        }));
    } catch (error) {
      if (mine === turn.current) setState((before) => ({ ...before, busy: false, error }));
    }
  };
  useEffect(() => {
    const mine = ++turn.current;
    setState({ list: [], next: null, busy: false, done: false, error: null });
    if (!text) return;
    const timer = setTimeout(() => look("", mine), 300);
    return () => clearTimeout(timer);
  }, [text]);
  const shown = state.list.filter((one) => !about(one) || one.metadata?.editOf);
  return html`<div class="talk-box found">
    <${Search}
      word=${t("talk.search")}
      value=${wanted}
      on=${on}
      maxlength="255"
      field=${(box) => {
        if (box && !box.dataset.met) {
          box.dataset.met = "1";
          box.focus();
        }
      }}
    />
    <p class="quiet" role="status">
      ${state.busy ? t("loading") : state.done ? many("talk.found", shown.length) : t("talk.searchHelp")}
    </p>
    <ol tabindex="0" aria-label=${t("talk.search")}>
      ${shown.map(
        (message) =>
          html`<${Message} key=${message.id} message=${message} at=${at} first dated spoken=${language.value} />`,
      )}
    </ol>
    <${Trouble} error=${state.error} again=${() => look(state.next, turn.current)} />
    ${state.next &&
    !state.busy &&
    html`<div class="buttons">
      <${Button} kind="small" word=${t("talk.searchOn")} act=${() => look(state.next, turn.current)} />
    </div>`}
  </div>`;
}
