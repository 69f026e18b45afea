// Live events of an instance: the same bytes that a webhook gets.
import { useCallback, useEffect, useMemo, useRef, useState } from "preact/hooks";
import { socketAt } from "../data/api.js";
import { html } from "../html.js";
import { Icon } from "../ui/icon.js";
import { Button, Copy, Empty } from "../ui/parts.js";
import { Windowed } from "../ui/windowed.js";
import { clock, many, t } from "../words.js";

const kept = 500; // events; older ones are dropped to bound memory

// useEvents receives the events of an instance while the page is open.
function useEvents(name, paused) {
  const [list, setList] = useState([]);
  const [state, setState] = useState("opening");
  const [late, setLate] = useState(0); // number of events during a pause
  const all = useRef([]), still = useRef(paused), count = useRef(0);
  still.current = paused;
  useEffect(() => {
    let socket, timer = 0, over = false, drawn = 0;
    const draw = () => { drawn = 0; if (!still.current) setList([...all.current]); };
    const open = () => {
      socket = new WebSocket(socketAt("/ws/instance/events?event=*&instance=" + encodeURIComponent(name)));
      socket.addEventListener("open", () => setState("open"));
      socket.addEventListener("message", ({ data }) => {
        all.current = [{ id: ++count.current, at: Date.now(), text: data, parsed: JSON.parse(data) }, ...all.current.slice(0, kept - 1)];
        if (still.current) setLate((n) => n + 1);
        else drawn ||= setTimeout(draw, 100); // a burst is drawn once
      });
      socket.addEventListener("close", () => {
        if (over) return;
        setState("closed");
        timer = setTimeout(open, 2000);
      });
    };
    open();
    return () => { over = true; clearTimeout(timer); clearTimeout(drawn); socket.close(); };
  }, [name]);
  useEffect(() => { if (!paused) { setLate(0); setList([...all.current]); } }, [paused]);
  return { list, state, late, clear: () => { all.current = []; setList([]); } };
}

export function Events({ row }) {
  const [paused, setPaused] = useState(false);
  const [wanted, setWanted] = useState("");
  const [chosen, setChosen] = useState(null);
  const { list, state, late, clear } = useEvents(row.name, paused);
  const shown = useMemo(() => {
    const text = wanted.trim().toLowerCase();
    return text ? list.filter((one) => one.text.toLowerCase().includes(text)) : list;
  }, [list, wanted]);
  const draw = useCallback((one) => html`<div role="cell" class="cell"><button type="button" aria-pressed=${String(chosen === one)} onClick=${() => setChosen(chosen === one ? null : one)}>
    <time class="quiet">${clock(one.at)}</time><span class="mono one-line">${one.parsed.event}</span><span class="quiet one-line">${gist(one.parsed)}</span></button></div>`, [chosen]);
  return html`<section class="card events"><div class="toolbar">
      <div class="with-icon search"><${Icon} name="search"/><input class="input" type="search" placeholder=${t("events.filter")} aria-label=${t("events.filter")} value=${wanted} onInput=${(event) => setWanted(event.target.value)}/></div>
      <div class="buttons"><${Button} icon=${paused ? "play" : "pause"} word=${t(paused ? "events.go" : "events.pause")} act=${() => { setPaused(!paused); }}/><${Button} kind="bare" word=${t("events.clear")} disabled=${list.length === 0} act=${() => { clear(); setChosen(null); }}/></div></div>
    <p class="quiet events-state" role="status"><span class=${"pulse " + (paused ? "wait" : state === "open" ? "good" : "busy")}><span class="dot"></span>${paused ? many("events.paused", late) : t("events." + state)}</span></p>
    ${shown.length === 0 ? html`<${Empty} icon="log" title=${t(list.length ? "events.noneFound" : "events.none")}>${!list.length && t("events.noneText")}<//>` :
      html`<div class=${"events-body" + (chosen ? " chosen" : "")}><div class="events-list" data-scrolls tabindex="-1"><${Windowed} items=${shown} height=${2.75} keyOf=${(one) => one.id} label=${t("tab.events")} draw=${draw}/></div>
        ${chosen && html`<${One} one=${chosen} url=${row.Webhook?.url} close=${() => setChosen(null)}/>`}</div>`}</section>`;
}

// gist returns the summary of an event: text, number or state.
function gist({ data }) {
  const one = Array.isArray(data) ? data[0] : data;
  if (!one || typeof one !== "object") return "";
  const first = [one.content?.text, one.connectionStatus, one.status, one.keyRemoteJid, one.remoteJid, one.id].find((text) => typeof text === "string" && text);
  return first || "";
}

function One({ one, url, close }) {
  const curl = () => `curl -X POST ${quoted(url || "http://127.0.0.1:9090/")} -H ${quoted("Content-Type: application/json")} -H ${quoted("x-webhook-event: " + one.parsed.event)} --data-raw ${quoted(one.text)}`;
  return html`<div class="event-one"><header><h2 class="mono">${one.parsed.event}</h2><div class="buttons"><${Copy} text=${one.text} word=${t("events.json")}/><${Copy} text=${curl} word=${t("events.curl")}/><${Button} kind="bare square small" icon="close" word=${t("close")} act=${() => { close(); }}/></div></header>
    <p class="quiet figures">${clock(one.at)} · ${many("bytes", new TextEncoder().encode(one.text).length)}</p><${Json} value=${one.parsed}/></div>`;
}

// quoted quotes a text for a shell.
export const quoted = (text) => "'" + text.replaceAll("'", "'\\''") + "'";

// Json shows a value with names, texts and numbers in different colours.
export function Json({ value }) {
  const text = JSON.stringify(value, null, 2);
  const parts = text.slice(0, 200000).split(/("(?:\\.|[^"\\])*"(?:\s*:)?|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?\b)/);
  return html`<pre class="code" tabindex="0" aria-label="JSON">${parts.map((part, i) => i % 2 === 0 ? part : html`<span class=${part.endsWith(":") ? "k" : part.startsWith('"') ? "s" : "n"}>${part}</span>`)}</pre>`;
}
