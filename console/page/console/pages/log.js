// The log: its level, its last lines and the support bundle.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { call, get } from "../data/api.js";
import { useLoaded } from "../data/loaded.js";
import { onReload } from "../data/live.js";
import { html } from "../html.js";
import { toast, useTitle } from "../ui/float.js";
import { Button, Choice, Copy, Empty, Loading, Search, Select, Trouble } from "../ui/parts.js";
import { save } from "../ui/sheet.js";
import { clock, many, moment, t } from "../words.js";

const levels = ["debug", "info", "warn", "error"];

export function Log() {
  useTitle(t("nav.log"));
  const [error, setError] = useState(null);
  const bundle = async () => {
    setError(null);
    try {
      toast((await save("GET", "/admin/support")).name, "download");
    } catch (reason) {
      setError(reason);
    }
  };
  return html`<div class="page-head">
      <div>
        <h1 tabindex="-1">${t("nav.log")}</h1>
        <p class="lead">${t("log.lead")}</p>
      </div>
      <div class="buttons">
        <${Button} icon="download" word=${t("log.support")} title=${t("log.supportHelp")} act=${bundle} />
      </div>
    </div>
    <div class="stack"><${Trouble} error=${error} again=${bundle} /><${Level} /><${Lines} /></div>`;
}

// Level changes the level for a limited time.
function Level() {
  const loaded = useLoaded("/admin/log");
  const [level, setLevel] = useState("debug");
  const [minutes, setMinutes] = useState("15");
  const [error, setError] = useState(null);
  const change = async (...asked) => {
    setError(null);
    try {
      loaded.set(await call(...asked));
    } catch (reason) {
      setError(reason);
    }
  };
  const is = loaded.value;
  return html`<section class="card">
    <header>
      <h2>${t("log.level")}</h2>
      ${is &&
      html`<p role="status">
        ${is.until
          ? t("log.until", { level: is.level, usual: is.usual, time: moment(is.until) })
          : t("log.usual", { level: is.level })}
      </p>`}
    </header>
    <${Trouble} error=${loaded.error || error} again=${loaded.error && loaded.load} />
    <div class="level">
      <${Select}
        label=${t("log.to")}
        value=${level}
        on=${setLevel}
        options=${levels.map((one) => [one, one])}
      /><${Select}
        label=${t("log.for")}
        value=${minutes}
        on=${setMinutes}
        options=${["5", "15", "60", "240", "1440"].map((one) => [one, many("log.minutes", Number(one))])}
      />
      <div class="buttons">
        <${Button}
          word=${t("log.set")}
          act=${() => change("PUT", "/admin/log", { level, minutes: Number(minutes) })}
        />${is?.until &&
        html`<${Button}
          kind="bare"
          word=${t("log.back", { level: is.usual })}
          act=${() => change("DELETE", "/admin/log")}
        />`}
      </div>
    </div>
  </section>`;
}

const tones = { ERROR: "bad", WARN: "busy", DEBUG: "off" };
const shownAtMost = 400,
  pause = 3000;

// parse splits off the fields that every log.format has; the rest of the line is unchanged.
function parse(line) {
  const time = /(?:^time=|"time":")(\S+?)(?=[" ]|$)/.exec(line)?.[1],
    level = /\blevel"?[=:]"?(\w+)/.exec(line)?.[1]?.toUpperCase() || "";
  const rest = line.startsWith("{") ? line : line.replace(/^time=\S+ level=\S+ /, "");
  return { line, level, time: Date.parse(time) ? time : "", rest };
}

// Lines polls while it follows, since the live connection does not carry the log. It omits the
// lines of its own requests.
function Lines() {
  const [follow, setFollow] = useState(false);
  const [lines, setLines] = useState(null);
  const [error, setError] = useState(null);
  const [wanted, setWanted] = useState("");
  const [least, setLeast] = useState("");
  const box = useRef(null);
  const load = async () => {
    try {
      setLines(
        (await get("/admin/log/lines", { as: "text" }))
          .split("\n")
          .filter((line) => line && !line.includes("/admin/log/lines")),
      );
      setError(null);
    } catch (reason) {
      setError(reason);
    }
  };
  useEffect(() => {
    load();
    return onReload(load);
  }, []);
  useEffect(() => {
    if (!follow) return;
    let timer = 0,
      over = false;
    const next = async () => {
      if (!document.hidden) await load();
      if (!over) timer = setTimeout(next, pause);
    };
    next();
    return () => {
      over = true;
      clearTimeout(timer);
    };
  }, [follow]);
  const found = useMemo(() => {
    const text = wanted.trim().toLowerCase(),
      levelsIn = least ? levels.slice(levels.indexOf(least)) : null;
    return (lines || [])
      .map(parse)
      .filter(
        (one) =>
          (!text || one.line.toLowerCase().includes(text)) && (!levelsIn || levelsIn.includes(one.level.toLowerCase())),
      );
  }, [lines, wanted, least]);
  const shown = found.slice(-shownAtMost);
  useEffect(() => {
    // scroll to the newest line, unless the user has scrolled up
    const { current } = box;
    if (current && (follow || !current.dataset.moved)) current.scrollTop = current.scrollHeight;
  }, [shown.length, shown.at(-1)?.line, follow]);
  return html`<section class="card">
    <header><h2>${t("log.lines")}</h2></header>
    <div class="toolbar">
      <${Search} word=${t("log.find")} value=${wanted} on=${setWanted} wide />
      <${Choice}
        label=${t("log.level")}
        value=${least}
        on=${setLeast}
        options=${[
          ["", t("group.all")],
          ["info", "info"],
          ["warn", "warn"],
          ["error", "error"],
        ]}
      />
      <div class="buttons">
        <${Button}
          icon=${follow ? "pause" : "play"}
          word=${t(follow ? "events.pause" : "log.follow")}
          aria-pressed=${String(follow)}
          act=${() => {
            setFollow(!follow);
          }}
        />${!follow && html`<${Button} kind="square" icon="restart" word=${t("again")} act=${load} />`}<${Copy}
          kind="square"
          text=${() => found.map((one) => one.line).join("\n")}
        />
      </div>
    </div>
    <${Trouble} error=${error} again=${load} />
    ${!lines
      ? !error && html`<${Loading} />`
      : shown.length === 0
        ? html`<${Empty} icon="log" title=${t("instances.none")} />`
        : html`<ol
              class="lines-of-log mono"
              ref=${box}
              tabindex="0"
              aria-label=${t("log.lines")}
              onWheel=${(event) => {
                event.currentTarget.dataset.moved = "1";
              }}
            >
              ${shown.map(
                (one, i) =>
                  html`<li key=${i} class=${tones[one.level] || ""}>
                    <time>${one.time && clock(one.time)}</time><span class="level-of">${one.level}</span
                    ><span>${one.rest}</span>
                  </li>`,
              )}
            </ol>
            <p class="quiet">${many("log.count", found.length)}</p>`}
  </section>`;
}
