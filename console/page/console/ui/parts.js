// The components of the pages.
import { useEffect, useRef, useState } from "preact/hooks";
import { NoAnswer } from "../data/api.js";
import { groupFor, stateOf } from "../data/states.js";
import { html } from "../html.js";
import { has, many, rich, t } from "../words.js";
import { Icon } from "./icon.js";

// Button. kind: "first", "harm", "bare", "small", "square", several with spaces
// between. A square one has its text only in the title. While act's promise is pending
// it cannot be pressed again. why: the reason why it cannot be pressed yet.
export function Button({ icon, kind = "", word, act, why, disabled = !!why, type = "button", title, ...rest }) {
  const [busy, setBusy] = useState(false);
  const here = useRef(true);
  const id = why && "why-" + word.replace(/\W/g, "");
  useEffect(
    () => () => {
      here.current = false;
    },
    [],
  );
  const press = async (event) => {
    if (busy || disabled) return event.preventDefault();
    const done = act?.(event);
    if (!done?.then) return;
    setBusy(true);
    try {
      await done;
    } finally {
      if (here.current) setBusy(false);
    }
  };
  const square = kind.includes("square");
  return html`<button
      type=${type}
      class=${"button " + kind}
      onClick=${press}
      aria-disabled=${busy || disabled ? "true" : undefined}
      aria-describedby=${id || undefined}
      aria-label=${square ? title || word : undefined}
      title=${title || (square ? word : undefined)}
      ...${rest}
    >
      ${busy ? html`<span class="wheel"></span>` : icon && html`<${Icon} name=${icon} />`}${!square &&
      html`<span>${word}</span>`}</button
    >${why && html`<span class="quiet" id=${id}>${why}</span>`}`;
}

// State shows the colour, icon and name of a state.
export function State({ of, pill }) {
  const group = groupFor(of),
    key = "state." + stateOf(of);
  return html`<span class=${"state " + group + (pill ? " pill" : "")}
    ><${Icon} name=${group} /><span>${has(key) ? t(key) : stateOf(of)}</span></span
  >`;
}

// Notice shows what happened and what to do about it.
export function Notice({ tone = "busy", icon = tone, title, children, buttons, live }) {
  return html`<div class=${"notice " + tone} role=${live || undefined}>
    <${Icon} name=${icon} />
    <div>
      <p><strong>${title}</strong></p>
      ${children && html`<p class="do">${children}</p>`}
    </div>
    ${buttons && html`<div class="buttons">${buttons}</div>`}
  </div>`;
}

// Trouble shows an error: its meaning, the server's message and a retry button. Where the
// server says when, it counts the seconds and then calls again.
export function Trouble({ error, again }) {
  const [left, setLeft] = useState(0);
  useEffect(() => {
    let timer = 0;
    const tick = async () => {
      const seconds = Math.max(0, Math.ceil((error.until - Date.now()) / 1000));
      setLeft(seconds);
      if (seconds) timer = setTimeout(tick, 1000);
      else await again?.();
    };
    if (error?.until)
      tick().catch(() => {}); // the next error is shown like this one
    else setLeft(0);
    return () => clearTimeout(timer);
  }, [error]);
  if (!error) return null;
  const buttons = again && html`<${Button} kind="small" icon="restart" word=${t("again")} act=${again} />`;
  return html`<${Notice} tone="bad" live="alert" title=${troubleOf(error)} buttons=${buttons}
    >${left > 0 &&
    html`<span class="figures" aria-live="off"
      >${again ? many("live.again", left) : many("trouble.wait", left)}${" "}</span
    >`}${error.requestId && html`<span class="quiet">${t("trouble.request", { id: error.requestId })}</span>`}<//
  >`;
}

// troubleOf returns the text of an error. The server's messages name field and rule; they are
// used if there is no translated text.
export function troubleOf(error) {
  if (error instanceof NoAnswer) return t(error.late ? "trouble.late" : "trouble.noAnswer", { host: location.host });
  const known = "code." + error.code;
  if (error.code && has(known)) return t(known);
  if (error.status === 401) return t("trouble.session");
  if (error.status >= 500 && !error.code) return t("trouble.server", { status: error.status });
  return error.message || String(error);
}

// Said shows foreign text, isolated from the direction of the surrounding text.
export const Said = ({ text }) =>
  text && html`<span class="quiet"> ${rich("said", { text: html`<bdi>${text}</bdi>` })}</span>`;

export function Empty({ icon, title, children, buttons }) {
  return html`<div class="empty">
    <${Icon} name=${icon} />
    <h2>${title}</h2>
    ${children && html`<p>${children}</p>`}${buttons && html`<div class="buttons">${buttons}</div>`}
  </div>`;
}

export const Loading = () => html`<div class="loading" role="status"><span class="wheel"></span>${t("loading")}</div>`;

// Field adds a label, help and an error to a control. The child is a function of the
// attributes that connect them.
let fields = 0;
export function Field({ label, help, wrong, children }) {
  const [id] = useState(() => "field-" + ++fields);
  const describedBy = [help && id + "-help", wrong && id + "-wrong"].filter(Boolean).join(" ");
  return html`<div class="field">
    <label for=${id}>${label}</label>${children({
      id,
      "aria-describedby": describedBy || undefined,
      "aria-invalid": wrong ? "true" : undefined,
    })}${wrong && html`<p class="wrong" id=${id + "-wrong"} role="alert"><${Icon} name="bad" />${wrong}</p>`}${help &&
    html`<p class="help" id=${id + "-help"}>${help}</p>`}
  </div>`;
}

export function Text({ label, help, wrong, value, on, kind = "", ...rest }) {
  return html`<${Field} label=${label} help=${help} wrong=${wrong}
    >${(ties) =>
      html`<input
        class=${"input " + kind}
        value=${value}
        onInput=${(event) => on(event.target.value)}
        autocomplete="off"
        spellcheck=${false}
        ...${rest}
        ...${ties}
      />`}<//
  >`;
}

// Search is a text field that filters a list; field is a ref to its input.
export const Search = ({ word, value, on, wide, field, ...rest }) =>
  html`<div class=${"with-icon" + (wide ? " search" : "")}>
    <${Icon} name="search" /><input
      class="input"
      type="search"
      placeholder=${word}
      aria-label=${word}
      value=${value}
      ref=${field}
      onInput=${({ target }) => on(target.value)}
      ...${rest}
    />
  </div>`;

export function Select({ label, help, value, on, options }) {
  return html`<${Field} label=${label} help=${help}
    >${(ties) =>
      html`<select class="input" value=${value} onChange=${(event) => on(event.target.value)} ...${ties}>
        ${options.map(([key, word]) => html`<option value=${key} selected=${key === value}>${word}</option>`)}
      </select>`}<//
  >`;
}

// opening calls on, and focuses the field that this opened.
function opening(target, on) {
  const fields = () => [
    ...target.closest(".card, dialog, main").querySelectorAll("input:not([type=checkbox]), textarea, select"),
  ];
  const before = fields();
  on();
  setTimeout(
    () =>
      target.isConnected &&
      fields()
        .find((one) => !before.includes(one))
        ?.focus(),
    50,
  );
}

export function Check({ label, help, value, on, name, type = "checkbox", disabled }) {
  return html`<label class="check"
    ><input
      type=${type}
      name=${name}
      checked=${value}
      disabled=${disabled}
      onChange=${({ target }) => opening(target, () => on(target.checked))}
    /><span>${label}</span>${help && html`<span class="help">${help}</span>`}</label
  >`;
}

// Choice selects one of a few options, side by side: [key, word, count].
export function Choice({ label, value, on, options }) {
  return html`<div class="choice" role="group" aria-label=${label}>
    ${options.map(
      ([key, word]) =>
        html`<button
          type="button"
          key=${key}
          aria-pressed=${String(key === value)}
          onClick=${({ target }) => opening(target, () => on(key))}
        >
          ${word}
        </button>`,
    )}
  </div>`;
}

// Copy copies a text and confirms it on the button.
export function Copy({ text, word, kind = "small" }) {
  const [done, setDone] = useState(false);
  const timer = useRef(0);
  useEffect(() => () => clearTimeout(timer.current), []);
  const copy = async () => {
    await copyText(typeof text === "function" ? text() : text);
    setDone(true);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => setDone(false), 2000);
  };
  return html`<${Button}
      kind=${kind}
      icon=${done ? "check" : "copy"}
      word=${done ? t("copied") : word || t("copy")}
      act=${copy}
    /><span class="unseen" role="status">${done ? t("copied") : ""}</span>`;
}

// copyText also works in an insecure context, where only a selection can be copied.
export async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const box = document.createElement("textarea");
    box.value = text;
    box.className = "unseen";
    (document.querySelector("dialog[open]") || document.body).append(box);
    const before = document.activeElement;
    box.select();
    const copied = document.execCommand("copy");
    box.remove();
    before?.focus?.();
    if (!copied) throw new Error(t("trouble.copy"));
  }
}

// Meter shows the usage of a limit, or plain progress.
export function Meter({ used, of, label, plain }) {
  const part = of > 0 ? Math.min(1, used / of) : 1;
  const tone = plain ? "" : part >= 1 ? "bad" : part >= 0.8 ? "busy" : "";
  return html`<div
    class=${"meter " + tone}
    role="meter"
    aria-label=${label}
    aria-valuemin="0"
    aria-valuemax=${of}
    aria-valuenow=${Math.min(used, of)}
  >
    <span style=${{ width: part * 100 + "%" }}></span>
  </div>`;
}
