// One chat: a window of its messages, live messages and the composer. Message content is
// untrusted: it is shown as text, and a file only as a type that cannot run.
import { Component } from "preact";
import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { call, get, instancePath, query } from "../data/api.js";
import { about, said, senderOf } from "../data/messages.js";
import { folded, kindOf, once, save, statusOf, typeOf } from "../data/talk.js";
import { can } from "../data/session.js";
import { useKept } from "../data/loaded.js";
import { html } from "../html.js";
import { to } from "../router.js";
import { Menu } from "../ui/float.js";
import { Icon } from "../ui/icon.js";
import { Button, copyText, Empty, Loading, Trouble, troubleOf } from "../ui/parts.js";
import { bytes, clock, language, many, moment, span, t } from "../words.js";

const long = 1500; // characters shown of a long text
const emoji = ["👍", "❤️", "😂", "😮", "😢", "🙏"];

// Ticks shows the delivery status of an own message: an icon and a text.
export function Ticks({ message }) {
  const status = message.failed ? "server_error" : message.sending ? "sending" : statusOf(message);
  const word = t("tick." + status);
  const tone = status === "server_error" ? "bad" : /read|played/.test(status) ? "wait" : "off";
  return html`<span class=${"tick " + tone} title=${word}
    ><${Icon}
      name=${{ server_error: "triangle", sending: "clock", sent: "check", unknown: "check" }[status] || "ticks"}
    /><span class="unseen">${word}</span></span
  >`;
}

// Message is redrawn only when its properties change.
class Message extends Component {
  shouldComponentUpdate(next) {
    return Object.keys(next).some(
      (name) => next[name] !== this.props[name] && !(name === "more" && same(next.more, this.props.more)),
    );
  }

  render(given) {
    return html`<${Bubble} ...${given} />`;
  }
}

const same = (a, b) =>
  a === b ||
  (!!a && !!b && a.edit === b.edit && a.revoked === b.revoked && [...a.reactions].join() === [...b.reactions].join());

function Bubble({ message, more, at, active, first, dated }) {
  const { answer, drop, react, group, can, setActive } = at.current;
  const [whole, setWhole] = useState(false);
  const [trouble, setTrouble] = useState(null);
  const content = said(more?.edit || message),
    sent = message.keyFromMe,
    real = !message.sending && !message.failed;
  const text = whole || content.text.length <= long ? content.text : content.text.slice(0, long) + "…";
  const reactions = [...(more?.reactions || [])];
  const give = (reaction) => {
    setTrouble(null);
    react(message, reaction).catch(setTrouble);
  };
  /** @type {any[]} */
  const items = [
    can.send && { word: t("message.reply"), icon: "left", act: () => answer(message) },
    content.text && { word: t("message.copy"), icon: "copy", act: () => copyText(content.text).catch(setTrouble) },
    can.send &&
      reactions.some(([who]) => who === "me") && { word: t("message.unreact"), icon: "close", act: () => give("") },
  ].filter(Boolean);
  if (can.send) items.push(null, ...emoji.map((one) => ({ word: one, act: () => give(one) })));
  return html`<li
    class=${"message" + (sent ? " sent" : "") + (first ? " first" : "")}
    data-id=${String(message.id)}
    tabindex=${active ? 0 : -1}
    onFocusIn=${() => setActive?.(message.id)}
    onPointerEnter=${() => setActive?.(message.id)}
  >
    <div class=${"bubble" + (message.failed ? " failed" : "")}>
      ${group && first && !sent && html`<p class="sender"><bdi class="one-line">${senderOf(message)}</bdi></p>`}
      <p class="unseen">${sent ? t("message.mine") : senderOf(message)}</p>
      ${content.quoted &&
      html`<blockquote>
        ${content.quoted.kind !== "text" && html`<em>${t("message." + content.quoted.kind)} </em>`}<span dir="auto"
          >${content.quoted.text.slice(0, 300)}</span
        >
      </blockquote>`}
      ${more?.revoked
        ? html`<p class="quiet">${t("message.revoked")}</p>`
        : html`${content.file &&
          html`<${Attached} content=${content} message=${message} at=${at} real=${real} />`}${!content.file &&
          content.kind !== "text" &&
          html`<p class="quiet">
            ${t("message." + content.kind)}${content.kind === "other" &&
            html` <span class="mono">${String(content.type).slice(0, 60)}</span>`}
          </p>`}${text && html`<p class="text" dir="auto">${linked(text)}</p>`}${text !== content.text &&
          html`<${Button}
            kind="bare small"
            word=${t("message.whole")}
            act=${() => {
              setWhole(true);
            }}
          />`}`}
      <p class="meta">
        ${more?.edit && html`<span>${t("message.edited")}</span>`}<time
          title=${moment((message.messageTimestamp || 0) * 1000)}
          >${dated
            ? moment((message.messageTimestamp || 0) * 1000)
            : clock((message.messageTimestamp || 0) * 1000, false)}</time
        >${sent && html`<${Ticks} message=${message} />`}
      </p>
      ${(message.failed || trouble) &&
      html`<div class="wrong" role="alert">
        <p>${troubleOf(message.failed || trouble)}</p>
        ${message.failed &&
        html`<div class="buttons">
          <${Button} kind="small" icon="restart" word=${t("again")} act=${message.again} /><${Button}
            kind="small bare"
            word=${t("message.drop")}
            act=${() => {
              drop(message.id);
            }}
          />
        </div>`}
      </div>`}
      ${reactions.length > 0 &&
      html`<p class="reactions">
        <span class="unseen">${t("message.reactions")} </span>${reactions.map(
          ([who, what]) => html`<span key=${who}>${what}</span>`,
        )}
      </p>`}
    </div>
    ${active &&
    real &&
    items.length > 0 &&
    html`<${Menu} word=${t("message.actions")} items=${items} kind="bare square small" />`}
  </li>`;
}

// linked returns a text with its links, of http and https only.
function linked(text) {
  return text.split(/(\bhttps?:\/\/[^\s<>"\p{Cc}\p{Cf}]+)/iu).map((part, i) => {
    if (i % 2 === 0) return part;
    const [, address, rest] = /^(.*?)([.,;:!?)\]}'’”]*)$/.exec(part);
    if (!URL.canParse(address) || !/^https?:$/.test(new URL(address).protocol)) return part;
    return [html`<a href=${address} target="_blank" rel="noopener noreferrer">${address}</a>`, rest];
  });
}

// Attached is the file of a message. It is fetched only on request, since it comes from WhatsApp
// and may be large.
function Attached({ content, message, at, real }) {
  const { name, can, loaded } = at.current;
  const [url, setUrl] = useState(message.local || "");
  const [error, setError] = useState(null);
  useEffect(
    () => () => {
      if (url && url !== message.local) URL.revokeObjectURL(url);
    },
    [url],
  );
  const type = typeOf(content.file.mimetype),
    size = Number(content.file.fileLength) || 0;
  const fetched = async () => {
    setError(null);
    for (let tries = 0; ; tries++) {
      try {
        return await get(instancePath(name) + "/messages/" + message.id + "/media", { as: "blob", patience: 120000 });
      } catch (reason) {
        if (reason.code !== "MEDIA_PENDING" || !reason.until || tries === 10) return void setError(reason);
        await new Promise((done) => setTimeout(done, reason.until - Date.now())); // it is being fetched
      }
    }
  };
  const show = async () => {
    const blob = await fetched();
    if (blob) setUrl(URL.createObjectURL(new Blob([blob], { type }))); // not the type that the sender declares
  };
  const keep = async () => {
    const blob = await fetched();
    if (blob) save(content.name || content.kind + "-" + message.id + "." + (type.split("/")[1] || "bin"), blob);
  };
  const label = [content.name && content.name.slice(0, 120), size && bytes(size)].filter(Boolean).join(" · ");
  const media =
    url &&
    (type.startsWith("image/")
      ? html`<img src=${url} alt=${content.text || t("message." + content.kind)} onLoad=${loaded} />`
      : type.startsWith("audio/")
        ? html`<audio src=${url} controls aria-label=${t("message." + content.kind)}></audio>`
        : type.startsWith("video/")
          ? html`<video
              src=${url}
              controls
              playsinline
              aria-label=${t("message." + content.kind)}
              onLoadedMetadata=${loaded}
            ></video>`
          : null);
  const small = !url && thumbnail(content.file.jpegThumbnail);
  return html`<div class=${"file " + content.kind}>
    ${media || (small && html`<img class="small" src=${small} alt="" />`)}
    ${!media &&
    html`<p class="file-name">
      <${Icon} name=${{ audio: "play", voice: "mic", document: "docs" }[content.kind] || "picture"} /><span
        ><strong>${t("message." + content.kind)}</strong>${label && html`<bdi class="quiet">${label}</bdi>`}</span
      >
    </p>`}
    ${error && html`<p class="wrong" role="alert">${troubleOf(error)}</p>`}
    ${real &&
    can.media &&
    html`<div class="buttons">
      ${type &&
      !url &&
      html`<${Button}
        kind="small"
        icon=${/audio|video/.test(type) ? "play" : "picture"}
        word=${t(/audio|video/.test(type) ? "message.play" : "message.show")}
        act=${show}
      />`}<${Button} kind="small bare" icon="save" word=${t("message.save")} act=${keep} />
    </div>`}
  </div>`;
}

// thumbnail returns the preview of a message, if it is a JPEG.
function thumbnail(text) {
  return typeof text === "string" && text.length < 200000 && /^\/9j\/[A-Za-z0-9+/]+=*$/.test(text)
    ? "data:image/jpeg;base64," + text
    : "";
}

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
    <div class="with-icon">
      <${Icon} name="search" /><input
        class="input"
        type="search"
        maxlength="255"
        ref=${(box) => {
          if (box && !box.dataset.met) {
            box.dataset.met = "1";
            box.focus();
          }
        }}
        placeholder=${t("talk.search")}
        aria-label=${t("talk.search")}
        value=${wanted}
        onInput=${(event) => on(event.target.value)}
      />
    </div>
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

const patience = 180000; // milliseconds, for the upload of a large file and its place in the queue
const canRecord = () => !!navigator.mediaDevices?.getUserMedia && typeof MediaRecorder === "function";

// useRecorder records a voice message.
function useRecorder(done, failed) {
  const [since, setSince] = useState(0);
  const [now, setNow] = useState(0);
  const running = useRef(null);
  const end = (keep) => {
    const mine = running.current;
    running.current = null;
    if (!mine) return;
    mine.keep = keep;
    mine.recorder.stop();
    setSince(0);
  };
  useEffect(() => () => end(false), []);
  useEffect(() => {
    if (!since) return;
    const timer = setInterval(() => setNow(Date.now()), 500);
    return () => clearInterval(timer);
  }, [since]);
  const begin = async () => {
    try {
      const stream = await navigator.mediaDevices.getUserMedia({ audio: true });
      const type = ["audio/ogg;codecs=opus", "audio/webm;codecs=opus", "audio/mp4"].find((one) =>
        MediaRecorder.isTypeSupported(one),
      );
      const mine = { recorder: new MediaRecorder(stream, type ? { mimeType: type } : {}), parts: [], keep: false };
      mine.recorder.addEventListener("dataavailable", (event) => mine.parts.push(event.data));
      mine.recorder.addEventListener("stop", () => {
        stream.getTracks().forEach((track) => track.stop());
        const bare = (mine.recorder.mimeType || type || "audio/webm").split(";")[0];
        if (mine.keep) done(new File(mine.parts, "voice." + bare.split("/")[1], { type: bare }));
      });
      mine.recorder.start();
      running.current = mine;
      setNow(Date.now());
      setSince(Date.now());
    } catch {
      failed(new Error(t("compose.noMicrophone")));
    }
  };
  return { since, seconds: Math.max(0, Math.floor((now - since) / 1000)), begin, end };
}

function Composer({ chat, path, online, send, reply, setReply, field }) {
  const [text, setText] = useKept(path + "/text/" + chat.jid, "");
  const [files, setFiles] = useState([]); // {id, file, voice, url}
  const [over, setOver] = useState(false);
  const [error, setError] = useState(null);
  const picker = useRef(null),
    count = useRef(0);
  const add = (list, voice) => {
    setError(null);
    setFiles((before) =>
      [
        ...before,
        ...[...list].map((file) => ({
          id: ++count.current,
          file,
          voice,
          url: /^(image\/(jpeg|png|webp|gif)|audio\/)/.test(file.type) ? URL.createObjectURL(file) : "",
        })),
      ].slice(0, 10),
    );
    field.current?.focus();
  };
  const take = (one) => {
    if (one.url) URL.revokeObjectURL(one.url);
    setFiles((before) => before.filter((other) => other !== one));
  };
  const recorder = useRecorder((file) => add([file], true), setError);
  useEffect(() => {
    const box = field.current;
    if (!box) return;
    box.style.height = "auto";
    box.style.height = Math.min(box.scrollHeight + 2, 180) + "px";
  }, [text]);

  const go = () => {
    const words = text.trim(),
      id = reply?.id;
    if (!words && !files.length) return;
    const options = id ? { quotedMessageId: id } : undefined;
    const contextInfo = id
      ? { quotedMessage: { conversation: said(reply).text || t("message." + said(reply).kind) } }
      : undefined;
    files.forEach((one, i) => {
      const kind = one.voice ? "voice" : kindOf(one.file),
        caption = i === 0 && /image|video|document/.test(kind) ? words : "";
      const type =
        { image: "imageMessage", video: "videoMessage", document: "documentMessage" }[kind] || "audioMessage";
      send(
        {
          messageType: type,
          content: {
            caption,
            fileName: one.file.name,
            fileLength: one.file.size,
            mimetype: one.file.type,
            ptt: !!one.voice,
            contextInfo,
          },
          local: one.url,
        },
        (headers) => {
          const form = new FormData(); // a new form for each attempt
          form.append("chat", chat.jid);
          if (!one.voice) form.append("mediaType", kind);
          if (caption) form.append("caption", caption);
          if (options) form.append("options", JSON.stringify(options));
          form.append("attachment", one.file, one.file.name || "file");
          return call("POST", path + (one.voice ? "/send/ptt-file" : "/send/media-file"), form, { headers, patience });
        },
      );
    });
    const captioned = files.some((one, i) => i === 0 && !one.voice && /image|video|document/.test(kindOf(one.file)));
    if (words && !captioned)
      send({ messageType: "conversation", content: { text: words, contextInfo } }, (headers) =>
        call(
          "POST",
          path + "/send/text",
          { chat: chat.jid, textMessage: { text: words }, ...(options && { options }) },
          { headers, patience },
        ),
      );
    setText("");
    setFiles([]);
    setReply(null);
    setError(null);
    field.current?.focus();
  };
  useEffect(() => {
    if (!matchMedia("(pointer: coarse)").matches) field.current.focus();
  }, []);
  const keys = (event) => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      go();
    } else if (event.key === "Escape" && reply) setReply(null);
  };
  const dragged = (event) => {
    if (![...event.dataTransfer.types].includes("Files")) return;
    event.preventDefault();
    setOver(event.type === "dragover");
    if (event.type === "drop") add(event.dataTransfer.files);
  };
  // The whole conversation accepts dropped files.
  useEffect(() => {
    const box = field.current?.closest(".talk");
    const names = ["dragover", "dragleave", "drop"];
    names.forEach((name) => box?.addEventListener(name, dragged));
    return () => names.forEach((name) => box?.removeEventListener(name, dragged));
  }, []);
  const pasted = (event) => {
    if (event.clipboardData.files.length) {
      event.preventDefault();
      add(event.clipboardData.files);
    }
  };
  return html`<footer class=${"composer" + (over ? " over" : "")}>
    ${over && html`<p class="drop-here">${t("compose.drop")}</p>`}
    ${!online && html`<p class="quiet" role="status">${t("compose.offline")}</p>`}
    ${reply &&
    html`<div class="replying">
      <div>
        <strong>${t("compose.replying")}</strong
        ><span class="one-line" dir="auto">${said(reply).text.slice(0, 200) || t("message." + said(reply).kind)}</span>
      </div>
      <${Button}
        kind="bare square small"
        icon="close"
        word=${t("compose.noReply")}
        act=${() => {
          setReply(null);
          field.current?.focus();
        }}
      />
    </div>`}
    ${files.length > 0 &&
    html`<ul class="tray">
      ${files.map(
        (one) =>
          html`<li key=${one.id}>
            ${one.url &&
            (one.file.type.startsWith("image/")
              ? html`<img src=${one.url} alt="" />`
              : html`<audio src=${one.url} controls aria-label=${t("message.voice")}></audio>`)}<span class="one-line"
              ><bdi>${one.voice ? t("message.voice") : one.file.name}</bdi>${" "}<span class="quiet"
                >${bytes(one.file.size)}</span
              ></span
            ><${Button}
              kind="bare square small"
              icon="close"
              word=${t("compose.take", { name: one.file.name })}
              act=${() => {
                take(one);
              }}
            />
          </li>`,
      )}
    </ul>`}
    <${Trouble} error=${error} />
    ${recorder.since
      ? html`<div class="compose-row">
          <span class="recording" role="status"
            ><span class="dot"></span>${t("compose.recording", { time: span(recorder.seconds) })}</span
          ><${Button}
            kind="bare"
            word=${t("cancel")}
            act=${() => {
              recorder.end(false);
            }}
          /><${Button}
            kind="first"
            icon="check"
            word=${t("compose.recorded")}
            act=${() => {
              recorder.end(true);
            }}
          />
        </div>`
      : html`<div class="compose-row">
          <input
            type="file"
            multiple
            hidden
            ref=${picker}
            onChange=${(event) => {
              add(event.target.files);
              event.target.value = "";
            }}
          /><${Button}
            kind="bare square"
            icon="clip"
            word=${t("compose.attach")}
            act=${() => {
              picker.current.click();
            }}
          /><textarea
            class="input"
            rows="1"
            ref=${field}
            maxlength="65536"
            dir="auto"
            placeholder=${t(files.length ? "compose.caption" : "compose.text")}
            aria-label=${t(files.length ? "compose.caption" : "compose.text")}
            value=${text}
            onInput=${(event) => setText(event.target.value)}
            onKeyDown=${keys}
            onPaste=${pasted}
          ></textarea
          >${canRecord() && !text && !files.length
            ? html`<${Button} kind="bare square" icon="mic" word=${t("compose.record")} act=${recorder.begin} />`
            : html`<${Button}
                kind="first square"
                icon="deliveries"
                word=${t("compose.send")}
                disabled=${!text.trim() && !files.length}
                act=${() => {
                  go();
                }}
              />`}
        </div>`}
  </footer>`;
}
