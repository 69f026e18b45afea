// Chats of an instance: the list, and one of them beside it. For tests and small teams.
import { useCallback, useEffect, useMemo, useRef, useState } from "preact/hooks";
import { filled, get, instancePath, query as asked } from "../data/api.js";
import { useCell } from "../data/cell.js";
import { about, chatName, gist, named } from "../data/messages.js";
import { isUnread, look, saw, sights } from "../data/seen.js";
import { useFeed } from "../data/talk.js";
import { fleet, loadFleet } from "../data/fleet.js";
import { onReload } from "../data/live.js";
import { can } from "../data/session.js";
import { groupFor, numberOf } from "../data/states.js";
import { html } from "../html.js";
import { go, to } from "../router.js";
import { Cancel, close, Dialog, open, useTitle } from "../ui/float.js";
import { Icon } from "../ui/icon.js";
import { Button, Empty, Loading, Search, State, Text, Trouble } from "../ui/parts.js";
import { Windowed } from "../ui/windowed.js";
import { ago, clock, compare, fold, moment, t } from "../words.js";
import { Talk } from "./chat_talk.js";
import { Ticks } from "./chat_message.js";

export function Chats({ parts }) {
  const { rows, at, error } = useCell(fleet);
  useEffect(() => {
    if (!fleet.value.at) loadFleet().catch(() => {});
  }, []);
  const names = useMemo(() => rows.map((row) => row.name).sort(compare()), [rows]);
  const row =
    rows.find((one) => one.name === parts[0]) ||
    (!parts[0] && (rows.find((one) => groupFor(one.connectionStatus) === "good") || rows[0]));
  useTitle(t("nav.chats"), row?.name);
  const chosen = parts[1] || "";
  return html`<div class=${"page-head chats-head" + (chosen ? " inside" : "")}>
      <div>
        <h1 tabindex="-1">${t("nav.chats")}</h1>
        <p class="lead">${t("chats.lead")}</p>
      </div>
      ${rows.length > 0 &&
      html`<div class="buttons">
        ${row &&
        html`<a class="plain" href=${to(["instances", row.name])} title=${t("hub.to", { name: row.name })}
          ><${State} of=${row.connectionStatus} pill
        /></a>`}<select
          class="input"
          aria-label=${t("chats.instance")}
          value=${row?.name}
          onChange=${(event) => go(["chats", event.target.value])}
        >
          ${!row && html`<option value="">${t("chats.choose")}</option>`}${names.map(
            (name) => html`<option key=${name} value=${name} selected=${name === row?.name}>${name}</option>`,
          )}
        </select>
      </div>`}
    </div>
    ${!at && error
      ? html`<${Trouble} error=${error} again=${loadFleet} />`
      : !at
        ? html`<${Loading} />`
        : !rows.length
          ? html`<div class="card">
              <${Empty}
                icon="chats"
                title=${t("chats.noInstance")}
                buttons=${can("manage") &&
                html`<a class="button first" href=${to(["instances"])}>${t("nav.instances")}</a>`}
                >${t("chats.noInstanceText")}<//
              >
            </div>`
          : !row
            ? html`<${Empty} icon="search" title=${t("instance.gone")}
                >${t("instance.goneText", { name: parts[0] })}<//
              >`
            : html`<${Room}
                key=${row.name}
                name=${row.name}
                online=${groupFor(row.connectionStatus) === "good"}
                chosen=${chosen}
              />`}`;
}

// useChats keeps the chats with messages up to date, latest first.
function useChats(name) {
  const [state, setState] = useState({ list: null, next: null, error: null });
  const busy = useRef(false);
  const load = useCallback(async () => {
    try {
      const page = await filled((at) => get(instancePath(name) + "/chats" + asked({ limit: 100, nextCursor: at })));
      setState({ list: page.records, next: page.nextCursor, error: null });
    } catch (error) {
      setState((before) => ({ ...before, error }));
    }
  }, [name]);
  useEffect(() => {
    load();
    return onReload(load);
  }, [load]);
  const more = async () => {
    if (busy.current || !state.next) return;
    busy.current = true;
    try {
      const page = await filled(
        (at) => get(instancePath(name) + "/chats" + asked({ limit: 100, nextCursor: at })),
        state.next,
      );
      setState((before) => ({
        ...before,
        list: [...before.list, ...page.records.filter((one) => !before.list.some((other) => other.jid === one.jid))],
        next: page.nextCursor,
      }));
    } catch (error) {
      setState((before) => ({ ...before, error }));
    } finally {
      busy.current = false;
    }
  };
  // put adds a message and moves its chat to the top.
  const put = (message) =>
    setState((before) => {
      if (!before.list || !message.keyRemoteJid) return before;
      const old = before.list.find(
        (one) =>
          one.jid === message.keyRemoteJid ||
          (message.keyLid && (one.lid === message.keyLid || one.jid === message.keyLid)),
      );
      const name = old?.name || (!message.isGroup && !message.keyFromMe && message.pushName) || "";
      const chat = {
        ...(old || { jid: message.keyRemoteJid, lid: message.keyLid, isGroup: message.isGroup }),
        name,
        lastMessage: message,
      };
      return { ...before, list: [chat, ...before.list.filter((one) => one !== old)] };
    });
  return { ...state, load, more, put };
}

// useGroups loads the names of groups from WhatsApp once.
function useGroups(name, wanted) {
  const [names, setNames] = useState(null);
  useEffect(() => {
    if (!wanted) return;
    get(instancePath(name) + "/groups").then(
      (list) => setNames(new Map(list.map((one) => [one.id, one.subject]))),
      () => {},
    ); // then their addresses are shown
  }, [name, wanted]);
  return names;
}

function Room({ name, online, chosen }) {
  const chats = useChats(name);
  const groups = useGroups(name, online && !!chats.list?.some((one) => one.isGroup));
  const [wanted, setWanted] = useState("");
  const talk = useRef(null); // the event handler of the open conversation
  const live = useFeed(
    name,
    ["messages.upsert", "send.message", "messages.update"],
    ({ event, data }) => {
      if (event !== "messages.update" && data?.keyRemoteJid) chats.put(data);
      talk.current?.(event, data);
    },
    () => {
      chats.load();
      talk.current?.("again");
    },
  );
  const sight = useCell(sights);
  const list = useMemo(
    () =>
      (chats.list || []).map((chat) => ({
        ...chat,
        shown: chatName(chat, groups),
        unread: chat.jid !== chosen && isUnread(name, chat),
      })),
    [chats.list, groups, sight, chosen],
  );
  useEffect(() => look(name), [name]);
  const shown = useMemo(() => {
    const text = fold(named(wanted));
    return text ? list.filter((chat) => fold(named(chat.shown + " " + chat.jid)).includes(text)) : list;
  }, [list, wanted]);
  const current =
    list.find((chat) => chat.jid === chosen || chat.lid === chosen) ||
    (chosen ? { jid: chosen, shown: chatName({ jid: chosen }, groups), isGroup: chosen.endsWith("@g.us") } : null);
  useEffect(() => {
    const see = () => {
      if (current && !document.hidden) saw(name, current);
    };
    see();
    document.addEventListener("visibilitychange", see);
    return () => document.removeEventListener("visibilitychange", see);
  }, [chosen, current?.lastMessage]);
  const draw = useCallback(
    (chat) =>
      html`<div role="cell" class="cell">
        <a
          href=${to(["chats", name, chat.jid])}
          class=${"chat" + (chat.unread ? " unread" : "")}
          aria-current=${chat.jid === chosen ? "page" : undefined}
        >
          <span class="face" aria-hidden="true"
            >${chat.isGroup ? html`<${Icon} name="batches" />` : initial(chat.shown)}</span
          >
          <strong class="one-line"><bdi>${chat.shown}</bdi></strong
          ><time class="quiet" title=${timeOf(chat)}>${short(chat.lastMessage)}</time>
          <span class="gist one-line"
            >${chat.lastMessage?.keyFromMe &&
            !about(chat.lastMessage) &&
            html`<${Ticks} message=${chat.lastMessage} />`}<bdi>${gist(chat.lastMessage)}</bdi>${chat.unread &&
            html`<span class="unseen"> ${t("chats.unread")}</span>`}</span
          ></a
        >
      </div>`,
    [name, chosen],
  );
  const scrolled = (event) => {
    if (event.target.scrollTop + event.target.clientHeight > event.target.scrollHeight - 400) chats.more();
  };
  return html`<div class=${"chats card" + (chosen ? " inside" : "")}>
    <section class="chats-side" aria-label=${t("chats.list")}>
      <header>
        <${Search} word=${t("chats.find")} value=${wanted} on=${setWanted} />
        ${can("send") &&
        html`<${Button}
          kind="square"
          icon="plus"
          word=${t("chats.new")}
          act=${() => {
            open(() => html`<${NewChat} name=${name} />`);
          }}
        />`}
      </header>
      <div class="chats-list" data-scrolls onScroll=${scrolled} tabindex="-1">
        ${chats.error && html`<${Trouble} error=${chats.error} again=${chats.load} />`}
        ${!chats.list
          ? !chats.error && html`<${Loading} />`
          : shown.length
            ? html`<${Windowed}
                items=${shown}
                height=${4.25}
                keyOf=${(chat) => chat.jid}
                label=${t("chats.list")}
                draw=${draw}
              />`
            : html`<${Empty} icon="chats" title=${t(wanted ? "chats.noneFound" : "chats.none")}
                >${!wanted && t("chats.noneText")}<//
              >`}
      </div>
    </section>
    ${current
      ? html`<${Talk}
          key=${current.jid}
          name=${name}
          chat=${current}
          online=${online}
          live=${live}
          heard=${talk}
          sent=${chats.put}
        />`
      : html`<div class="talk-none"><${Empty} icon="chats" title=${t("talk.none")}>${t("chats.about")}<//></div>`}
  </div>`;
}

const initial = (text) => (/^\+\d+$/.test(text) ? text.slice(-2) : [...text][0]?.toUpperCase() || "?");
const timeOf = (chat) => (chat.lastMessage?.messageTimestamp ? moment(chat.lastMessage.messageTimestamp * 1000) : "");

// short formats the time of a message briefly.
function short(message) {
  if (!message?.messageTimestamp) return "";
  const at = message.messageTimestamp * 1000;
  return new Date(at).toDateString() === new Date().toDateString() ? clock(at, false) : ago(at);
}

// NewChat opens a chat with a number or a contact.
function NewChat({ name }) {
  const [text, setText] = useState("");
  const [found, setFound] = useState([]);
  const [wrong, setWrong] = useState("");
  useEffect(() => {
    const wanted = text.trim();
    if (wanted.length < 2 || /^[+\d]/.test(wanted)) return setFound([]);
    const stop = new AbortController();
    const timer = setTimeout(
      () =>
        get(instancePath(name) + "/contacts" + asked({ name: wanted.slice(0, 100), limit: 8 }), {
          signal: stop.signal,
        }).then(
          (page) => setFound(page.records),
          () => {},
        ),
      200,
    );
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [text]);
  const begin = (jid) => {
    close();
    go(["chats", name, jid]);
  };
  const submit = (event) => {
    event?.preventDefault();
    const digits = text.replace(/[+()./\-\s\p{Cf}]/gu, "");
    if (/^[1-9]\d{6,14}$/.test(digits)) begin(digits + "@s.whatsapp.net");
    else if (/^[\d-]+@(g\.us|lid|s\.whatsapp\.net)$/.test(text.trim())) begin(text.trim());
    else setWrong(t("chats.newWrong"));
  };
  return html`<${Dialog}
    title=${t("chats.new")}
    footer=${html`<${Cancel} /><${Button}
        kind="first"
        word=${t("chats.begin")}
        act=${() => {
          submit();
        }}
      />`}
    ><form onSubmit=${submit} novalidate>
      <${Text}
        label=${t("chats.who")}
        help=${t("chats.whoHelp")}
        wrong=${wrong}
        value=${text}
        on=${(value) => {
          setText(value);
          setWrong("");
        }}
      />
    </form>
    ${found.length > 0 &&
    html`<ul class="lines">
      ${found.map(
        (one) =>
          html`<li key=${one.id}>
            <div>
              <bdi class="one-line">${named(one.fullName || one.pushName || one.businessName) || numberOf(one.jid)}</bdi
              ><span class="quiet one-line">${numberOf(one.jid)}</span>
            </div>
            <${Button}
              kind="small"
              word=${t("chats.begin")}
              act=${() => {
                begin(one.jid);
              }}
            />
          </li>`,
      )}
    </ul>`}<//
  >`;
}
