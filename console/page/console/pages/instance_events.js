// Live events of an instance: the same bytes that a webhook gets.
import { useCallback, useEffect, useMemo, useRef, useState } from "preact/hooks";
import { socketAt } from "../data/api.js";
import { session } from "../data/session.js";
import { html } from "../html.js";
import { Button, Copy, Empty, Search } from "../ui/parts.js";
import { Windowed } from "../ui/windowed.js";
import { clock, many, t } from "../words.js";

const kept = 200,
  most = 3,
  hearing = 600000; // events of an instance, instances, milliseconds after leaving

// heard has what was heard of the last instances, the latest last, by name. It lives as long
// as the tab of the browser and the session.
const heard = new Map();
let lastId = 0;

// Ear hears an instance.
class Ear {
  constructor(name) {
    this.name = name;
    Object.assign(this, { list: [], state: "opening", leaves: 0, gap: false, draw: () => {} });
    this.open();
  }

  open() {
    clearTimeout(this.timer);
    this.timer = 0;
    this.over = false;
    const mine = (this.socket = new WebSocket(
      socketAt("/ws/instance/events?event=*&instance=" + encodeURIComponent(this.name)),
    ));
    mine.addEventListener("open", () => {
      if (this.gap && this.list.length) this.add({ gap: true, text: "", parsed: { event: "" } });
      this.gap = false;
      this.show("open");
    });
    mine.addEventListener("message", ({ data }) => {
      this.add({ text: data, parsed: JSON.parse(data) });
      this.draw();
    });
    mine.addEventListener("close", () => {
      if (this.socket !== mine) return;
      this.gap = true;
      this.show("closed");
      if (!this.over) this.timer = setTimeout(() => this.open(), 2000);
    });
  }

  add(one) {
    this.list = [{ id: ++lastId, at: Date.now(), ...one }, ...this.list.slice(0, kept - 1)];
  }

  show(state) {
    this.state = state;
    this.draw();
  }

  // come begins to draw; leave goes on to hear for a while.
  come(draw) {
    clearTimeout(this.leaves);
    this.draw = draw;
    if (this.over) this.open();
  }

  leave() {
    this.draw = () => {};
    this.leaves = setTimeout(() => this.end(), hearing);
  }

  end() {
    this.over = true;
    clearTimeout(this.leaves);
    clearTimeout(this.timer);
    this.socket.close();
  }
}

function earOf(name) {
  const ear = heard.get(name) || new Ear(name);
  heard.delete(name);
  heard.set(name, ear);
  for (const [other, old] of heard) {
    if (heard.size <= most) break;
    old.end();
    heard.delete(other);
  }
  return ear;
}

session.watch(({ state }) => {
  if (state !== "out") return;
  for (const ear of heard.values()) ear.end();
  heard.clear();
});

// useEvents shows what is heard of an instance.
function useEvents(name, paused) {
  const ear = useMemo(() => earOf(name), [name]);
  const [, again] = useState(0);
  const shown = useRef(ear.list),
    still = useRef(paused);
  still.current = paused;
  if (!paused) shown.current = ear.list;
  useEffect(() => {
    let drawn = 0;
    const draw = () => {
      drawn = 0;
      again((n) => n + 1);
    };
    ear.come(() => {
      drawn ||= setTimeout(draw, 100);
    }); // a burst is drawn once
    draw();
    return () => {
      clearTimeout(drawn);
      ear.leave();
    };
  }, [ear]);
  const first = shown.current[0]?.id || 0;
  return {
    list: shown.current,
    state: ear.state,
    late: ear.list.filter((one) => one.id > first).length,
    clear: () => {
      shown.current = ear.list = [];
      again((n) => n + 1);
    },
  };
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
  const draw = useCallback(
    (one) =>
      one.gap
        ? html`<div role="cell" class="cell gap quiet"><time>${clock(one.at)}</time> ${t("events.gap")}</div>`
        : html`<div role="cell" class="cell">
            <button
              type="button"
              aria-pressed=${String(chosen === one)}
              onClick=${() => setChosen(chosen === one ? null : one)}
            >
              <time class="quiet">${clock(one.at)}</time><span class="mono one-line">${one.parsed.event}</span
              ><span class="quiet one-line">${brief(one.parsed)}</span>
            </button>
          </div>`,
    [chosen, t("events.gap")],
  );
  return html`<section class="card events">
    <div class="toolbar">
      <${Search} word=${t("events.filter")} value=${wanted} on=${setWanted} wide />
      <div class="buttons">
        <${Button}
          icon=${paused ? "play" : "pause"}
          word=${t(paused ? "events.go" : "events.pause")}
          act=${() => {
            setPaused(!paused);
          }}
        /><${Button}
          kind="bare"
          word=${t("events.clear")}
          disabled=${list.length === 0}
          act=${() => {
            clear();
            setChosen(null);
          }}
        />
      </div>
    </div>
    <p class="quiet events-state" role="status">
      <span class=${"pulse " + (paused ? "wait" : state === "open" ? "good" : "busy")}
        ><span class="dot"></span>${paused ? many("events.paused", late) : t("events." + state)}</span
      >
    </p>
    ${shown.length === 0
      ? html`<${Empty} icon="log" title=${t(list.length ? "events.noneFound" : "events.none")}
          >${!list.length && t("events.noneText")}<//
        >`
      : html`<div class=${"events-body" + (chosen ? " chosen" : "")}>
          <div class="events-list" data-scrolls tabindex="-1">
            <${Windowed} items=${shown} height=${2.75} keyOf=${(one) => one.id} label=${t("tab.events")} draw=${draw} />
          </div>
          ${chosen && html`<${OneEvent} one=${chosen} url=${row.Webhook?.url} close=${() => setChosen(null)} />`}
        </div>`}
  </section>`;
}

// brief returns the summary of an event: text, number or state.
function brief({ data }) {
  const one = Array.isArray(data) ? data[0] : data;
  if (!one || typeof one !== "object") return "";
  const first = [one.content?.text, one.connectionStatus, one.status, one.keyRemoteJid, one.remoteJid, one.id].find(
    (text) => typeof text === "string" && text,
  );
  return first || "";
}

function OneEvent({ one, url, close }) {
  const curl = () =>
    `curl -X POST ${quoted(url || "http://127.0.0.1:9090/")} -H ${quoted("Content-Type: application/json")} -H ${quoted("x-webhook-event: " + one.parsed.event)} --data-raw ${quoted(one.text)}`;
  return html`<div class="event-one">
    <header>
      <h2 class="mono">${one.parsed.event}</h2>
      <div class="buttons">
        <${Copy} text=${one.text} word=${t("events.json")} /><${Copy} text=${curl} word=${t("events.curl")} /><${Button}
          kind="bare square small"
          icon="close"
          word=${t("close")}
          act=${() => {
            close();
          }}
        />
      </div>
    </header>
    <p class="quiet figures">${clock(one.at)} · ${many("bytes", new TextEncoder().encode(one.text).length)}</p>
    <${Json} value=${one.parsed} />
  </div>`;
}

// quoted quotes a text for a shell.
export const quoted = (text) => "'" + text.replaceAll("'", "'\\''") + "'";

// Json shows a value with names, texts and numbers in different colours.
export function Json({ value }) {
  const text = JSON.stringify(value, null, 2);
  const parts = text.slice(0, 200000).split(/("(?:\\.|[^"\\])*"(?:\s*:)?|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?\b)/);
  return html`<pre class="code" tabindex="0" aria-label="JSON">
${parts.map((part, i) =>
      i % 2 === 0
        ? part
        : html`<span class=${part.endsWith(":") ? "k" : part.startsWith('"') ? "s" : "n"}>${part}</span>`,
    )}</pre
  >`;
}
