// Shared editors: events and headers.
import { useState } from "preact/hooks";
import { events } from "../data/events.js";
import { html } from "../html.js";
import { number, t } from "../words.js";
import { Button, Check, Search } from "./parts.js";

// Flags selects events. value holds the flags that are set.
export function Flags({ value, on }) {
  const [wanted, setWanted] = useState("");
  const all = Object.keys(events),
    set = all.filter((flag) => value[flag]);
  const shown = all.filter((flag) =>
    (flag + " " + events[flag] + " " + t("event." + flag)).toLowerCase().includes(wanted.trim().toLowerCase()),
  );
  const put = (flags, is) => on({ ...value, ...Object.fromEntries(flags.map((flag) => [flag, is])) });
  return html`<fieldset class="flags">
    <legend class="label">
      ${t("flags.title")}${" "}<span class="quiet figures"
        >${t("flags.set", { n: number(set.length), of: number(all.length) })}</span
      >
    </legend>
    <div class="flags-head">
      <${Search}
        word=${t("flags.search")}
        value=${wanted}
        on=${setWanted}
        onKeyDown=${(event) => event.key === "Enter" && event.preventDefault()}
      />
      <div class="buttons">
        <${Button}
          kind="small"
          word=${t("flags.all")}
          act=${() => {
            put(shown, true);
          }}
        /><${Button}
          kind="small"
          word=${t("flags.none")}
          act=${() => {
            put(shown, false);
          }}
        />
      </div>
    </div>
    <div class="flags-list">
      ${shown.map(
        (flag) =>
          html`<${Check}
            key=${flag}
            value=${!!value[flag]}
            on=${(is) => put([flag], is)}
            label=${html`<span class="mono">${events[flag]}</span>`}
            help=${t("event." + flag)}
          />`,
      )}${shown.length === 0 && html`<p class="quiet">${t("flags.nothing")}</p>`}
    </div>
  </fieldset>`;
}

// Headers edits further headers. The value *** keeps the stored one.
export function Headers({ value, on }) {
  const list = Object.entries(value || {});
  const put = (at, name, text) => on(Object.fromEntries(list.map((one, i) => (i === at ? [name, text] : one))));
  return html`<fieldset class="headers">
    <legend class="label">${t("headers.title")}</legend>
    ${list.map(
      ([name, text], i) =>
        html`<div class="with-button" key=${i}>
          <input
            class="input code"
            aria-label=${t("headers.name")}
            placeholder="X-Api-Key"
            value=${name}
            onInput=${(event) => put(i, event.target.value, text)}
            spellcheck=${false}
            autocomplete="off"
          />
          <input
            class="input code"
            aria-label=${t("headers.value")}
            value=${text}
            onFocus=${(event) => event.target.select()}
            onInput=${(event) => put(i, name, event.target.value)}
            spellcheck=${false}
            autocomplete="off"
          />
          <${Button}
            kind="bare square"
            icon="trash"
            word=${t("headers.remove", { name })}
            act=${() => {
              on(Object.fromEntries(list.filter((_, at) => at !== i)));
            }}
          />
        </div>`,
    )}
    <div class="buttons">
      <${Button}
        kind="small"
        icon="plus"
        word=${t("headers.add")}
        disabled=${list.length >= 16 || "" in (value || {})}
        act=${() => {
          on({ ...value, "": "" });
        }}
      />
    </div>
    ${list.some(([, text]) => text === "***") && html`<p class="help quiet">${t("headers.kept")}</p>`}
  </fieldset>`;
}
