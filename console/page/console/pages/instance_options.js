// Delivery options of a webhook and its further receivers.
import { useState } from "preact/hooks";
import { call } from "../data/api.js";
import { useDraft, useLoaded } from "../data/loaded.js";
import { html } from "../html.js";
import { Flags, Headers } from "../ui/editors.js";
import { Cancel, Dialog, close, confirm, open, toast } from "../ui/float.js";
import { SaveCard } from "../ui/form.js";
import { Button, Check, Select, Text, Trouble } from "../ui/parts.js";
import { many, t } from "../words.js";
import { Secret } from "./instance_actions.js";

const filters = ["groups", "status", "newsletters", "broadcasts", "fromMe"];
const without = ({ secret, ...rest }) => rest; // do not send back the secret that the server generated

// Options edits the options of an instance or, with common, of the global webhook, which has
// no filter and no further receivers.
export function Options({ path, common }) {
  const loaded = useLoaded(path);
  const form = useDraft(loaded.value, path, ["headers", "endpoints"]);
  const { draft, change } = form;
  const save = async (options) => {
    const body = { ...options, signing: without(options.signing) };
    if (!common) body.endpoints = options.endpoints.map((one) => ({ ...one, signing: without(one.signing || {}) }));
    const result = await call("PUT", path, body);
    show(result);
    loaded.set(result);
    return result;
  };
  const rotate = (endpointId) =>
    confirm({
      title: t("signing.rotate"),
      children: t("signing.rotateText"),
      word: t("signing.rotateDo"),
      harm: false,
      act: async () => {
        const result = await call(
          "POST",
          path + "/rotate-secret" + (endpointId ? "?endpointId=" + encodeURIComponent(endpointId) : ""),
        );
        setTimeout(() => show(result));
      },
    });
  const drop = () =>
    confirm({
      title: t("options.drop"),
      children: t("options.dropText"),
      word: t("options.drop"),
      act: async () => {
        const result = await call("DELETE", path);
        loaded.set(result);
        form.saved(result);
        toast(t("saved"));
      },
    });
  const more = html`<${Button}
    kind="bare"
    word=${t("options.drop")}
    act=${() => {
      drop();
    }}
  />`;
  return html`<${SaveCard}
    title=${t("options.title")}
    about=${t(common ? "options.common" : "options.about")}
    loaded=${loaded}
    form=${form}
    save=${save}
    more=${more}
  >
    ${draft &&
    html`<${Check}
        label=${t("options.durable")}
        help=${t("options.durableHelp")}
        value=${draft.durable}
        on=${(durable) => change({ durable, ...(durable ? {} : { order: "none" }) })}
      />
      <div class="row">
        <${Select}
          label=${t("options.order")}
          value=${draft.order}
          on=${(order) => change({ order })}
          options=${(draft.durable ? ["none", "chat", "instance"] : ["none"]).map((one) => [
            one,
            t("options.order." + one),
          ])}
        />
        <${Text}
          label=${t("options.maxAge")}
          help=${t("options.maxAgeHelp")}
          value=${draft.maxAge}
          on=${(maxAge) => change({ maxAge })}
          kind="code"
        />
      </div>
      <${Headers} value=${draft.headers} on=${(headers) => change({ headers })} />
      <div class="between">
        <${Check}
          label=${t("signing.label")}
          help=${t("signing.help")}
          value=${draft.signing.enabled}
          on=${(enabled) => change({ signing: { enabled } })}
        />
        ${loaded.value.signing.enabled &&
        !form.changed &&
        html`<${Button}
          kind="small"
          icon="restart"
          word=${t("signing.rotate")}
          act=${() => {
            rotate();
          }}
        />`}
      </div>
      ${!common &&
      html`<fieldset>
          <legend class="label">${t("filter.title")}</legend>
          <div class="flags-list">
            ${filters.map(
              (one) =>
                html`<${Check}
                  key=${one}
                  label=${t("filter." + one)}
                  value=${draft.filter[one]}
                  on=${(is) => change({ filter: { ...draft.filter, [one]: is } })}
                />`,
            )}
          </div>
        </fieldset>
        <${Endpoints}
          list=${draft.endpoints}
          on=${(endpoints) => change({ endpoints })}
          saved=${form.changed ? [] : loaded.value.endpoints}
          rotate=${rotate}
        />`}`}<//
  >`;
}

// show shows the secrets of an answer, which are not available later.
function show(result) {
  const secrets = [
    [t("webhook.title"), result.signing.secret],
    ...(result.endpoints || []).map((one) => [one.id, one.signing?.secret]),
  ].filter(([, secret]) => secret);
  if (secrets.length === 0) return;
  open(
    () =>
      html`<${Dialog}
        title=${t("signing.made")}
        footer=${html`<${Button}
          kind="first"
          word=${t("done")}
          act=${() => {
            close();
          }}
        />`}
        ><p>${t("signing.once")}</p>
        ${secrets.map(([name, secret]) => html`<${Secret} key=${name} label=${name} value=${secret} />`)}<//
      >`,
  );
}

function Endpoints({ list, on, saved, rotate }) {
  const edit = (at) =>
    open(
      () =>
        html`<${Endpoint}
          value=${list[at]}
          taken=${list.filter((_, i) => i !== at).map((one) => one.id)}
          on=${(one) => on(at === undefined ? [...list, one] : list.map((was, i) => (i === at ? one : was)))}
        />`,
    );
  return html`<fieldset>
    <legend class="label">${t("endpoints.title")}</legend>
    ${list.length > 0 &&
    html`<ul class="lines">
      ${list.map(
        (one, i) =>
          html`<li key=${one.id}>
            <div><strong class="one-line">${one.id}</strong><span class="quiet one-line">${one.url}</span></div>
            <span class="quiet"
              >${one.enabled === false
                ? t("webhook.off")
                : many("endpoints.events", Object.values(one.events || {}).filter(Boolean).length)}</span
            >
            <div class="buttons">
              ${saved.some((was) => was.id === one.id && was.signing?.enabled) &&
              html`<${Button}
                kind="bare square small"
                icon="restart"
                word=${t("signing.rotate")}
                act=${() => {
                  rotate(one.id);
                }}
              />`}
              <${Button}
                kind="small"
                word=${t("edit")}
                aria-label=${t("edit.of", { name: one.id })}
                act=${() => {
                  edit(i);
                }}
              /><${Button}
                kind="bare square small"
                icon="trash"
                word=${t("endpoints.remove", { name: one.id })}
                act=${() => {
                  on(list.filter((_, at) => at !== i));
                }}
              />
            </div>
          </li>`,
      )}
    </ul>`}
    <div class="buttons">
      <${Button}
        kind="small"
        icon="plus"
        word=${t("endpoints.add")}
        disabled=${list.length >= 8}
        act=${() => {
          edit();
        }}
      />
    </div>
  </fieldset>`;
}

function Endpoint({ value, taken, on }) {
  const [draft, setDraft] = useState({
    id: "",
    url: "",
    enabled: true,
    events: {},
    headers: {},
    signing: { enabled: false },
    ...value,
  });
  const [wrong, setWrong] = useState(null);
  const change = (part) => setDraft({ ...draft, ...part });
  const take = () => {
    if (!/^[A-Za-z0-9._-]{1,64}$/.test(draft.id) || taken.includes(draft.id))
      return setWrong(new Error(t("endpoints.wrongId")));
    if (!/^https?:\/\/[^/]/.test(draft.url)) return setWrong(new Error(t("endpoints.wrongUrl")));
    on({ ...draft, events: Object.fromEntries(Object.entries(draft.events).filter(([, set]) => set)) });
    close();
    toast(t("endpoints.taken"), "info");
  };
  return html`<${Dialog}
    wide
    title=${value ? value.id : t("endpoints.add")}
    footer=${html`<${Cancel} /><${Button}
        kind="first"
        word=${t("take")}
        act=${() => {
          take();
        }}
      />`}
  >
    <div class="form">
      <div class="row">
        <${Text}
          label=${t("endpoints.id")}
          value=${draft.id}
          on=${(id) => change({ id })}
          kind="code"
          maxlength="64"
        /><${Text} label=${t("webhook.url")} value=${draft.url} on=${(url) => change({ url })} kind="code" type="url" />
      </div>
      <${Check}
        label=${t("endpoints.enabled")}
        value=${draft.enabled}
        on=${(enabled) => change({ enabled })}
      /><${Check}
        label=${t("signing.label")}
        value=${draft.signing.enabled}
        on=${(enabled) => change({ signing: { enabled } })}
      />
      <${Headers} value=${draft.headers} on=${(headers) => change({ headers })} /><${Flags}
        value=${draft.events}
        on=${(flags) => change({ events: flags })}
      />
    </div>
    <${Trouble} error=${wrong}
  /><//>`;
}
