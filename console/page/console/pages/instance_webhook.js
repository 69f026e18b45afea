// The webhook of an instance: address, flags, test and options.
import { useState } from "preact/hooks";
import { call, instancePath } from "../data/api.js";
import { events } from "../data/events.js";
import { put } from "../data/fleet.js";
import { useDraft, useLoaded } from "../data/loaded.js";
import { html } from "../html.js";
import { Flags } from "../ui/editors.js";
import { SaveCard } from "../ui/form.js";
import { Button, Check, Notice, Said, Select, Text, Trouble } from "../ui/parts.js";
import { number, t } from "../words.js";
import { Options } from "./instance_options.js";
import { Receivers } from "./receivers.js";

const none = { url: "", enabled: true, events: {} };

export function Webhook({ row }) {
  const path = instancePath(row.name) + "/webhook";
  const loaded = useLoaded(path, { none });
  const form = useDraft(loaded.value, path);
  const save = async ({ url, enabled, events: flags }) => {
    const made = await call("PUT", path, {
      url: url.trim(),
      enabled,
      events: Object.fromEntries(Object.entries(flags).filter(([, set]) => set)),
    });
    loaded.set(made);
    put({ name: row.name, Webhook: made });
    return made;
  };
  const { draft, change } = form;
  return html`<div class="stack">
    <${SaveCard}
      title=${t("webhook.title")}
      about=${t("webhook.about")}
      loaded=${loaded}
      form=${form}
      save=${save}
      done=${t("webhook.saved")}
    >
      ${draft &&
      html`<${Text}
          label=${t("webhook.url")}
          help=${t("webhook.urlHelp")}
          kind="code"
          type="url"
          inputmode="url"
          maxlength="500"
          placeholder="https://example.org/hook"
          value=${draft.url}
          on=${(url) => change({ url })}
        />
        <${Check}
          label=${t("webhook.enabled")}
          help=${t("webhook.enabledHelp")}
          value=${draft.enabled}
          on=${(enabled) => change({ enabled })}
        />
        <${Flags} value=${draft.events} on=${(flags) => change({ events: flags })} />`}<//
    >
    ${loaded.value?.id && html`<${Try} path=${path} unsaved=${form.changed} />`}
    <${Receivers} instance=${row.name} />
    <${Options} path=${path + "/options"} />
  </div>`;
}

// Try sends one example and shows the answer.
function Try({ path, unsaved }) {
  const [event, setEvent] = useState("messages.upsert");
  const [result, setResult] = useState(null);
  const [error, setError] = useState(null);
  const send = async () => {
    setError(null);
    try {
      setResult(await call("POST", path + "/test", { event }, { patience: 60000 }));
    } catch (reason) {
      setResult(null);
      setError(reason);
    }
  };
  return html`<section class="card">
    <header>
      <h2>${t("try.title")}</h2>
      <p>${t("try.about")}</p>
    </header>
    <div class="form">
      <div class="with-button end">
        <${Select}
          label=${t("try.event")}
          value=${event}
          on=${setEvent}
          options=${Object.values(events).map((name) => [name, name])}
        /><${Button} icon="deliveries" word=${t("try.do")} act=${send} />
      </div>
      ${unsaved && html`<p class="quiet">${t("try.unsaved")}</p>`}${result &&
      html`<${Answer} of=${result} />`}<${Trouble} error=${error} />
    </div>
  </section>`;
}

// Answer shows how a receiver answered a test.
export function Answer({ of: { delivered, statusCode: status, durationMs, error } }) {
  const title = delivered ? t("try.taken", { status }) : status ? t("try.refused", { status }) : t("try.nothing");
  return html`<${Notice} tone=${delivered ? "good" : "bad"} live="status" title=${title}
    >${t("try.took", { ms: number(durationMs) })}<${Said} text=${error}
  /><//>`;
}
