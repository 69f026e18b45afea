// A card whose fields are saved together.
import { useEffect, useRef, useState } from "preact/hooks";
import { html } from "../html.js";
import { t } from "../words.js";
import { toast } from "./float.js";
import { Button, Loading, Trouble } from "./parts.js";

// SaveCard shows its fields once they are loaded. An error of save stays visible until the
// next attempt. more: further buttons.
export function SaveCard({ title, about, loaded, form, save, done, children, more }) {
  const [error, setError] = useState(null);
  const card = useRef(null);
  useEffect(() => {
    if (error) card.current.querySelector("[role=alert]")?.scrollIntoView({ block: "nearest" });
  }, [error]);
  const go = async () => {
    setError(null);
    try {
      form.saved(await save(form.draft));
      toast(done || t("saved"));
    } catch (reason) {
      setError(reason);
    }
  };
  const submit = (event) => {
    event.preventDefault();
    if (form.changed) card.current.querySelector("footer .first")?.click();
  };
  return html`<section class="card" ref=${card}>
    <header>
      <h2>${title}${form.changed && html` <span class="unsaved">${t("unsaved")}</span>`}</h2>
      ${about && html`<p>${about}</p>`}
    </header>
    <${Trouble} error=${loaded.error} again=${loaded.load} />${form.draft === undefined
      ? !loaded.error && html`<${Loading} />`
      : html`<form class="form" onSubmit=${submit} novalidate>${children}<button hidden></button></form>`}
    ${error && html`<div class="after"><${Trouble} error=${error} /></div>`}
    ${form.draft !== undefined &&
    html`<footer>
      <${Button} kind="first" word=${t("save")} disabled=${!form.changed} act=${go} />${form.changed &&
      html`<${Button}
        kind="bare"
        word=${t("undo")}
        act=${() => {
          setError(null);
          form.undo();
        }}
      />`}${more}
    </footer>`}
  </section>`;
}
