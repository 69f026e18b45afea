// When, how fast and from where a new batch is sent.
import { useMemo, useState } from "preact/hooks";
import { groupFor } from "../data/states.js";
import { html } from "../html.js";
import { Button, Check, Choice, Search, State, Text } from "../ui/parts.js";
import { compare, number, t } from "../words.js";
import { Title, User } from "./batch_new_who.js";

export const zone = () => Intl.DateTimeFormat().resolvedOptions().timeZone || "UTC";

export function Options({ form, put, rows, operator, wrong }) {
  return html`<section class="card">
    <${Title} of="how" />
    <div class="form">
      <${Text}
        label=${t("new.name")}
        help=${t("new.nameHelp")}
        value=${form.name}
        on=${(name) => put({ name })}
        maxlength="255"
      />
      <${Instances} rows=${rows} value=${form.instances} on=${(instances) => put({ instances })} />
      <fieldset>
        <legend class="label">${t("new.delay")}</legend>
        <p class="quiet">${t("new.delayHelp")}</p>
        <div class="row">
          <${Text}
            label=${t("limits.min")}
            wrong=${wrong.delay}
            inputmode="decimal"
            value=${form.min}
            on=${(min) => put({ min })}
          /><${Text} label=${t("limits.max")} inputmode="decimal" value=${form.max} on=${(max) => put({ max })} />
        </div>
      </fieldset>
      <fieldset>
        <legend class="label">${t("new.when")}</legend>
        <${Choice} label=${t("new.when")} value=${form.when} on=${(when) => put({ when })} options=${times()} />
        ${form.when !== "now" &&
        html`<div class="row after">
            ${[
              ["from", "limits.from"],
              ["to", "limits.to"],
            ].map(
              ([name, word]) =>
                html`<${Text}
                  key=${name}
                  type="datetime-local"
                  label=${t(word)}
                  wrong=${name === "from" && wrong.when}
                  value=${form[name]}
                  on=${(value) => put({ [name]: value })}
                />`,
            )}
          </div>
          <p class="help quiet">${t(form.when === "daily" ? "new.dailyHelp" : "new.onceHelp", { zone: zone() })}</p>`}
      </fieldset>
      <div>
        <${Check} label=${t("new.skip")} help=${t("new.skipHelp")} value=${form.skip} on=${(skip) => put({ skip })} />
        <${Check} label=${t("new.typing")} value=${form.typing} on=${(typing) => put({ typing })} />
      </div>
      ${operator && html`<${User} value=${form.user} on=${(user) => put({ user })} wrong=${wrong.user} />`}
    </div>
  </section>`;
}

export const times = () => [
  ["now", t("new.now")],
  ["once", t("new.once")],
  ["daily", t("new.daily")],
];

// Instances selects the sending instances. Of a long list only the matches are drawn.
function Instances({ rows, value, on }) {
  const [wanted, setWanted] = useState("");
  const shown = useMemo(
    () =>
      rows
        .filter((row) => (row.name + " " + row.description).toLowerCase().includes(wanted.trim().toLowerCase()))
        .sort(
          (a, b) =>
            +(groupFor(b.connectionStatus) === "good") - +(groupFor(a.connectionStatus) === "good") ||
            compare()(a.name, b.name),
        ),
    [rows, wanted],
  );
  const put = (names, is) => on(is ? [...new Set([...value, ...names])] : value.filter((one) => !names.includes(one)));
  return html`<fieldset class="flags">
    <legend class="label">
      ${t("batch.instances")}${" "}<span class="quiet figures"
        >${t("flags.set", { n: number(value.length), of: number(rows.length) })}</span
      >
    </legend>
    <p class="quiet">${t("new.instancesHelp")}</p>
    ${rows.length > 8 &&
    html`<div class="flags-head">
      <${Search} word=${t("instances.search")} value=${wanted} on=${setWanted} />
      <div class="buttons">
        <${Button}
          kind="small"
          word=${t("flags.all")}
          act=${() => {
            put(
              shown.map((row) => row.name),
              true,
            );
          }}
        /><${Button}
          kind="small"
          word=${t("flags.none")}
          act=${() => {
            put(
              shown.map((row) => row.name),
              false,
            );
          }}
        />
      </div>
    </div>`}
    <div class="flags-list">
      ${shown
        .slice(0, 60)
        .map(
          (row) =>
            html`<${Check}
              key=${row.name}
              value=${value.includes(row.name)}
              on=${(is) => put([row.name], is)}
              label=${html`<span class="one-line">${row.name}</span>`}
              help=${row.connectionStatus && html`<${State} of=${row.connectionStatus} />`}
            />`,
        )}
    </div>
    ${shown.length > 60 && html`<p class="quiet">${t("new.moreInstances", { n: number(shown.length - 60) })}</p>`}
  </fieldset>`;
}
