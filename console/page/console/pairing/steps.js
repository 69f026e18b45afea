// The steps of a pairing: one component each.
import { useEffect, useRef, useState } from "preact/hooks";
import { html } from "../html.js";
import { Button, Copy, Loading, Notice, Text, Trouble } from "../ui/parts.js";
import { many, rich, t } from "../words.js";

// Left shows the remaining validity of the code, as a ring and in seconds.
function Left({ until }) {
  const [now, setNow] = useState(Date.now());
  const whole = useRef(0);
  useEffect(() => {
    whole.current = until - Date.now();
    setNow(Date.now());
    const timer = setInterval(() => setNow(Date.now()), 1000);
    return () => clearInterval(timer);
  }, [until]);
  if (!until) return null;
  const seconds = Math.max(0, Math.ceil((until - now) / 1000));
  const part = whole.current > 0 ? Math.max(0, Math.min(1, (until - now) / whole.current)) : 0;
  return html`<p class="left figures">
    <svg viewBox="0 0 20 20" aria-hidden="true">
      <circle cx="10" cy="10" r="8" />
      <circle cx="10" cy="10" r="8" pathLength="1" style=${{ strokeDashoffset: 1 - part }} /></svg
    >${seconds ? many("pair.left", seconds) : t("pair.next")}
  </p>`;
}

// Steps shows where a pairing is, and its trouble.
export function Steps({ view, flow, again, name }) {
  return html`<div class="pairing" data-step=${view.step}>${step(view, flow, again, name)}</div>
    ${view.trouble &&
    html`<${Notice} tone="bad" live="alert" title=${view.trouble.message ? undefined : t(view.trouble)}
      >${view.trouble.message && html`<${Trouble} error=${view.trouble} />`}<//
    >`}`;
}

function step(view, flow, again, name) {
  switch (view.step) {
    case "qr":
      return html`<${Scan} view=${view} flow=${flow} />`;
    case "number":
    case "typed":
      return html`<${Typed} view=${view} flow=${flow} again=${again} />`;
    case "sign":
      return html`<${Sign} view=${view} flow=${flow} />`;
    case "compare":
      return html`<${Compare} view=${view} flow=${flow} />`;
    case "failed":
      return html`<${Failed} view=${view} again=${again} name=${name} />`;
    case "waiting":
      return html`<div class="loading" role="status"><span class="wheel"></span>${t(view.why)}</div>`;
    default:
      return html`<${Loading} />`;
  }
}

// Way is how one gets to the scanner on the phone.
const Way = () =>
  html`<li>${t("pair.step1")}</li>
    <li>
      ${rich("pair.step2", {
        menu: html`<strong>${t("pair.devices")}</strong>`,
        link: html`<strong>${t("pair.linkOne")}</strong>`,
      })}
    </li>`;

function Scan({ view, flow }) {
  return html`<div class="scan">
    <figure>
      <img src=${view.image} alt=${t("pair.image")} width="264" height="264" />
      <figcaption><${Left} until=${view.until} /></figcaption>
    </figure>
    <div>
      <p>${t("pair.lead")}</p>
      <ol>
        <${Way} />
        <li>${t("pair.step3")}</li>
      </ol>
      <div class="buttons">
        <${Button}
          kind="small"
          icon="phone"
          word=${t("pair.type")}
          act=${() => {
            flow.number();
          }}
        />
      </div>
    </div>
  </div>`;
}

function Typed({ view, flow, again }) {
  const [phone, setPhone] = useState("");
  const submit = (event) => {
    event.preventDefault();
    event.target.querySelector("button[type=button]").click();
  };
  if (view.step === "typed") {
    return html`<div class="typed">
      <p>${t("pair.typeCode")}</p>
      <p class="digits">${view.code}</p>
      <div class="buttons"><${Copy} text=${view.code} kind="" /></div>
      <ol>
        <${Way} />
        <li>${t("pair.typeStep3")}</li>
      </ol>
      <p class="left" role="status"><span class="wheel"></span>${t("pair.typeWaits")}</p>
      <div class="buttons">
        <${Button} kind="small" icon="qr" word=${t("pair.scanInstead")} act=${() => flow.scan(again)} />
      </div>
    </div>`;
  }
  return html`<form class="form" onSubmit=${submit}>
    <${Text}
      label=${t("pair.number")}
      help=${t("pair.numberHelp")}
      value=${phone}
      on=${setPhone}
      type="tel"
      inputmode="tel"
      autofocus
      placeholder="+49 151 1234 5678"
    />
    <div class="buttons">
      <${Button}
        kind="first"
        word=${t("pair.getCode")}
        disabled=${!phone.trim()}
        act=${() => flow.type(phone.trim())}
      /><${Button} icon="qr" word=${t("pair.scanInstead")} act=${() => flow.scan(again)} />
    </div>
  </form>`;
}

function Sign({ view, flow }) {
  const [text, setText] = useState("");
  const send = async () => {
    if (await flow.answer(text)) setText("");
  };
  const link = html`<a href="https://web.whatsapp.com/" target="_blank" rel="noreferrer">${t("pair.site")}</a>`;
  return html`<div class="sign">
    <p>${t("pair.sign.lead")}</p>
    <ol>
      <li>${rich("pair.sign.open", { site: link })}</li>
      <li>${rich("pair.sign.console", { key: html`<kbd>F12</kbd>`, mac: html`<kbd>⌥ ⌘ J</kbd>` })}</li>
      <li>
        ${t("pair.sign.copy")}
        <div class="buttons"><${Copy} text=${view.line} word=${t("pair.sign.copyDo")} kind="first" /></div>
        <details>
          <summary>${t("pair.sign.show")}</summary>
          <textarea
            class="input code"
            rows="4"
            readonly
            aria-label=${t("pair.sign.line")}
            value=${view.line}
          ></textarea>
        </details>
      </li>
      <li>${rich("pair.sign.paste", { words: html`<kbd>allow pasting</kbd>` })}</li>
      <li>
        <form
          class="form"
          onSubmit=${(event) => {
            event.preventDefault();
            send();
          }}
        >
          <label class="field"
            ><span class="label">${t("pair.sign.back")}</span
            ><textarea
              class="input code"
              rows="3"
              value=${text}
              onInput=${(event) => setText(event.target.value)}
              autocomplete="off"
              spellcheck=${false}
              required
            ></textarea>
          </label>
          <div class="buttons"><${Button} word=${t("pair.sign.send")} act=${send} /></div>
        </form>
      </li>
    </ol>
  </div>`;
}

function Compare({ view, flow }) {
  return html`<div class="typed">
    <p>${t("pair.compare")}</p>
    <p class="digits">${view.code}</p>
    <div class="buttons">
      <${Button} kind="first" icon="check" word=${t("pair.same")} act=${() => flow.confirm()} /><${Button}
        icon="close"
        word=${t("pair.differs")}
        act=${() => flow.giveUp()}
      />
    </div>
    <p class="quiet">${t("pair.unsure")}</p>
  </div>`;
}

function Failed({ view, again, name }) {
  const { status, why, error } = view;
  const reason =
    status && (status.lastError ? status.connectionStatus + ": " + status.lastError : status.connectionStatus);
  return html`${error
      ? html`<${Trouble} error=${error} />`
      : html`<${Notice} tone=${why === "pair.other" ? "bad" : "busy"} live="alert" title=${t(why + ".title", { name })}
          >${t(why, { name, why: reason })}<//
        >`}
    <div class="buttons">
      <${Button} kind="first" icon="restart" word=${t("pair.again")} act=${again} autofocus />
    </div>`;
}
