// The sign-in form, also shown when a session ends during work.
import { useState } from "preact/hooks";
import { useCell } from "../data/cell.js";
import { loadSession, session, signIn } from "../data/session.js";
import { html } from "../html.js";
import { chooseTheme, theme, themes } from "../theme.js";
import { Dialog, Menu, useTitle } from "../ui/float.js";
import { Button, Field, Trouble, troubleOf } from "../ui/parts.js";
import { language, languages, speak, store, t } from "../words.js";

function KeyForm({ word }) {
  const [key, setKey] = useState("");
  const [shown, setShown] = useState(false);
  /** @type {any} */
  const [wrong, setWrong] = useState("");
  const [busy, setBusy] = useState(false);
  const submit = async (event) => {
    event.preventDefault();
    if (busy) return;
    if (!key.trim()) return setWrong("signIn.empty");
    setBusy(true);
    setWrong("");
    try {
      await signIn(key.trim());
    } catch (error) {
      setWrong(error.status === 401 ? "signIn.wrong" : error);
      setBusy(false);
      document.querySelector("#key-form input")?.focus();
    }
  };
  return html`<form id="key-form" class="form" onSubmit=${submit} novalidate>
    <${Field}
      label=${t("signIn.key")}
      wrong=${wrong && (wrong.message ? troubleOf(wrong) : t(wrong))}
      help=${t("signIn.where")}
      >${(ties) =>
        html`<div class="with-button">
          <input
            class="input code"
            type=${shown ? "text" : "password"}
            value=${key}
            onInput=${(event) => setKey(event.target.value)}
            name="password"
            autocomplete="current-password"
            spellcheck=${false}
            autocapitalize="none"
            autofocus
            required
            ...${ties}
          />
          <${Button} word=${t(shown ? "hide" : "show")} aria-pressed=${String(shown)} act=${() => setShown(!shown)} />
        </div>`}<//
    ><input hidden type="text" name="username" autocomplete="username" value="postern" readonly /><${Button}
      type="submit"
      kind="first"
      word=${word}
      disabled=${busy}
    />
  </form>`;
}

export function SignIn() {
  const { state, error } = useCell(session);
  const chosen = useCell(theme),
    spoken = useCell(language);
  useTitle(t("signIn.title"));
  return html`<main class="sign-in" id="main">
    <div class="card">
      <div class="brand">
        <img src="dashboard/mark.svg" alt="" width="40" height="40" />
        <h1 tabindex="-1">Postern</h1>
      </div>
      <p class="quiet">${t("signIn.lead")}</p>
      ${state === "unreached"
        ? html`<${Trouble}
            error=${error}
            again=${() => loadSession().catch((reason) => session.set({ state: "unreached", error: reason }))}
          />`
        : html`<${KeyForm} word=${t("signIn.do")} />`}
    </div>
    <div class="tools">
      <${Menu}
        word=${t("language")}
        kind="bare"
        icon="globe"
        items=${Object.entries(languages).map(([code, name]) => ({
          word: name,
          icon: code === spoken ? "check" : "",
          current: code === spoken,
          act: () => {
            store("language", code);
            speak(code);
          },
        }))}
        >${languages[spoken]}<//
      >
      <${Menu}
        word=${t("theme")}
        kind="bare"
        items=${themes.map((name) => ({
          word: t("theme." + name),
          icon: name,
          current: name === chosen,
          act: () => chooseTheme(name),
        }))}
        >${t("theme." + chosen)}<//
      >
      <a class="button bare" href="docs">${t("docs")}</a>
    </div>
  </main>`;
}

// SignInAgain covers the current page, which keeps its state.
export function SignInAgain() {
  return html`<${Dialog} title=${t("signIn.again")} closed=${() => session.set({ state: "out" })}
    ><p>${t("signIn.ended")}</p>
    <${KeyForm} word=${t("signIn.do")}
  /><//>`;
}
