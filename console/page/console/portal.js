// The page behind a portal link: the name and state of one instance and the pairing, in the
// reader's language. The link gives access to nothing else.
import { render } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { call, get } from "./data/api.js";
import { html } from "./html.js";
import { Flow } from "./pairing/flow.js";
import { Steps } from "./pairing/steps.js";
import { Icon } from "./ui/icon.js";
import { Button, Loading, Trouble } from "./ui/parts.js";
import { language, languages, preferred, speak, store, t, useWords } from "./words.js";

const secret = "/" + location.pathname.split("/").pop();
const look = () => get(secret + "/state", { signingIn: true });
const pause = 5000; // milliseconds between two requests while idle

const calls = {
  connect: () => get(secret + "/connect", { patience: 60000 }),
  status: () => get(secret + "/state", { patience: 10000 }),
  code: (phoneNumber) => call("POST", secret + "/connect/code", { phoneNumber }, { patience: 60000 }),
  script: () => get(secret + "/connect/passkey/script", { as: "text" }),
  assertion: (answer) => call("POST", secret + "/connect/passkey/assertion", answer, { patience: 60000 }),
  confirm: () => call("POST", secret + "/connect/passkey/confirm", undefined, { patience: 60000 }),
  logout: () => call("DELETE", secret + "/connect"),
};

function Portal() {
  useWords();
  const [state, setState] = useState(null);
  const [error, setError] = useState(null);
  const [pairing, setPairing] = useState(0);
  const refresh = () =>
    look().then((next) => {
      setState(next);
      setError(null);
    }, setError);
  useEffect(() => {
    refresh();
  }, []);
  useEffect(() => {
    if (pairing || error?.status === 404) return;
    const timer = setInterval(refresh, pause);
    return () => clearInterval(timer);
  }, [pairing, error?.status]);
  useEffect(() => {
    if (!state) return;
    document.title = state.title;
    if (state.accent) document.documentElement.style.setProperty("--brand", state.accent);
  }, [state?.title, state?.accent]);
  return html`<div class="portal-card">
    <header>
      ${state?.logo
        ? html`<img class="portal-logo" src=${"." + secret + "/logo"} alt="" />`
        : html`<img class="portal-logo" src="../dashboard/mark.svg" alt="" width="40" height="40" />`}
      <p>${state?.title || ""}</p>
      <${Language} />
    </header>
    ${body(state, error, pairing, setPairing, refresh)}
  </div>`;
}

function body(state, error, pairing, setPairing, refresh) {
  if (error?.status === 404)
    return html`<h1>${t("portal.over.title")}</h1>
      <p>${t("portal.over")}</p>`;
  if (!state)
    return error
      ? html`<h1>${t("portal.title")}</h1>
          <${Trouble} error=${error} />`
      : html`<${Loading} />`;
  if (state.state === "open")
    return html`<div class="portal-done" role="status">
        <${Icon} name="check" />
        <h1>${t("portal.linked")}</h1>
      </div>
      <p>${t("portal.linked.text", { name: state.instanceName })}</p>`;
  if (pairing)
    return html`<h1>${t("portal.title")}</h1>
      <${Pairing}
        key=${pairing}
        name=${state.instanceName}
        again=${() => setPairing((n) => n + 1)}
        done=${() => {
          setPairing(0);
          refresh();
        }}
      />`;
  return html`<h1>${t("portal.title")}</h1>
    <p>${t("portal.lead", { name: state.instanceName })}</p>
    ${error && html`<${Trouble} error=${error} />`}
    <div class="buttons">
      <${Button} kind="first" icon="phone" word=${t("portal.begin")} act=${() => setPairing(1)} autofocus />
    </div>
    <p class="quiet">
      ${t("portal.until", {
        at: new Date(state.expiresAt).toLocaleString(language.value, { dateStyle: "medium", timeStyle: "short" }),
      })}
    </p>`;
}

function Pairing({ name, again, done }) {
  /** @type {any} */
  const [view, setView] = useState({ step: "starting" });
  const flow = useRef(null);
  useEffect(() => {
    const mine = (flow.current = new Flow(calls, setView));
    mine.begin();
    return () => mine.end();
  }, []);
  useEffect(() => {
    if (view.step === "done") done();
  }, [view.step]);
  return html`<${Steps} view=${view} flow=${flow.current} again=${again} name=${name} />`;
}

function Language() {
  const choose = (code) => {
    store("language", code);
    speak(code);
  };
  return html`<label class="portal-language"
    ><span class="unseen">${t("language")}</span
    ><select class="input" value=${language.value} onChange=${(event) => choose(event.target.value)}>
      ${Object.entries(languages).map(
        ([code, word]) => html`<option key=${code} value=${code} lang=${code}>${word}</option>`,
      )}
    </select></label
  >`;
}

await speak(preferred());
render(html`<${Portal} />`, document.getElementById("portal"));
