// Limits and settings of an instance.
import { call, instancePath } from "../data/api.js";
import { useDraft, useLoaded } from "../data/loaded.js";
import { html } from "../html.js";
import { SaveCard } from "../ui/form.js";
import { Check, Field, Text } from "../ui/parts.js";
import { t } from "../words.js";

export const numbers = ["perMinute", "perHour", "perDay", "newContactsPerDay"];

// numeric parses a typed number, undefined for an empty text; other text goes to the server
// unchanged, which reports the error.
const numeric = (text) =>
  text === "" || text === undefined ? undefined : /^-?\d+$/.test(String(text).trim()) ? Number(text) : text;

const N = ({ label, help, value, on, none }) =>
  html`<${Text}
    label=${label}
    help=${help}
    value=${value ?? ""}
    on=${on}
    inputmode="numeric"
    placeholder=${none || ""}
  />`;

export function Limits({ row }) {
  const path = instancePath(row.name) + "/limits";
  const loaded = useLoaded(path);
  const form = useDraft(loaded.value, path);
  const { draft, change } = form;
  const part = (name, inner) => change({ [name]: { ...draft[name], ...inner } });
  const save = async (limits) => {
    const body = {};
    for (const name of numbers) if (numeric(limits[name]) !== undefined) body[name] = numeric(limits[name]);
    if (limits.timezone) body.timezone = limits.timezone.trim();
    const { from, to, days, startedAt } = limits.warmUp || {};
    if (filled(from, to, days))
      body.warmUp = { from: numeric(from), to: numeric(to), days: numeric(days), ...(startedAt && { startedAt }) };
    if (filled(limits.quietHours?.from, limits.quietHours?.to))
      body.quietHours = { from: limits.quietHours.from, to: limits.quietHours.to };
    if (filled(limits.jitterMs?.min, limits.jitterMs?.max))
      body.jitterMs = { min: numeric(limits.jitterMs.min), max: numeric(limits.jitterMs.max) };
    const result = await call("PUT", path, body);
    loaded.set(result);
    return result;
  };
  return html`<${SaveCard}
    title=${t("limits.title")}
    about=${t("limits.about")}
    loaded=${loaded}
    form=${form}
    save=${save}
    >${draft &&
    html`<div class="row">
        ${numbers.map(
          (name) =>
            html`<${N}
              key=${name}
              label=${t("limits." + name)}
              value=${draft[name]}
              on=${(text) => change({ [name]: text })}
              none=${t("limits.unset")}
            />`,
        )}
      </div>
      <fieldset>
        <legend class="label">${t("limits.warmUp")}</legend>
        <p class="quiet">${t("limits.warmUpHelp")}</p>
        <div class="row">
          <${N} label=${t("limits.from")} value=${draft.warmUp?.from} on=${(from) => part("warmUp", { from })} /><${N}
            label=${t("limits.to")}
            value=${draft.warmUp?.to}
            on=${(to) => part("warmUp", { to })}
          /><${N} label=${t("limits.days")} value=${draft.warmUp?.days} on=${(days) => part("warmUp", { days })} />
        </div>
      </fieldset>
      <fieldset>
        <legend class="label">${t("limits.quietHours")}</legend>
        <p class="quiet">${t("limits.quietHelp")}</p>
        <div class="row">
          <${Text}
            label=${t("limits.from")}
            type="time"
            value=${draft.quietHours?.from || ""}
            on=${(from) => part("quietHours", { from })}
          /><${Text}
            label=${t("limits.to")}
            type="time"
            value=${draft.quietHours?.to || ""}
            on=${(to) => part("quietHours", { to })}
          /><${Text}
            label=${t("limits.timezone")}
            value=${draft.timezone || ""}
            on=${(timezone) => change({ timezone })}
            placeholder="Europe/Berlin"
          />
        </div>
      </fieldset>
      <fieldset>
        <legend class="label">${t("limits.jitter")}</legend>
        <p class="quiet">${t("limits.jitterHelp")}</p>
        <div class="row">
          <${N} label=${t("limits.min")} value=${draft.jitterMs?.min} on=${(min) => part("jitterMs", { min })} /><${N}
            label=${t("limits.max")}
            value=${draft.jitterMs?.max}
            on=${(max) => part("jitterMs", { max })}
          />
        </div>
      </fieldset>`}<//
  >`;
}

const filled = (...values) => values.some((value) => value !== undefined && value !== "");

export function Settings({ row }) {
  const path = instancePath(row.name) + "/settings";
  const loaded = useLoaded(path);
  const form = useDraft(loaded.value, path);
  const { draft, change } = form;
  const ignore = (inner) => change({ ignore: { ...draft.ignore, ...inner } });
  const save = async (settings) => {
    const result = await call("PUT", path, {
      ...settings,
      ignore: { ...settings.ignore, jids: settings.ignore.jids.map((one) => one.trim()).filter(Boolean) },
      history: { ...settings.history, days: numeric(settings.history.days) ?? 0 },
    });
    loaded.set(result);
    return result;
  };
  return html`<${SaveCard}
    title=${t("settings.title")}
    about=${t("settings.about")}
    loaded=${loaded}
    form=${form}
    save=${save}
    >${draft &&
    html`<fieldset>
        <legend class="label">${t("settings.does")}</legend>
        <${Check}
          label=${t("settings.readMessages")}
          value=${draft.readMessages}
          on=${(readMessages) => change({ readMessages })}
        /><${Check}
          label=${t("settings.alwaysOnline")}
          value=${draft.alwaysOnline}
          on=${(alwaysOnline) => change({ alwaysOnline })}
        /><${Check}
          label=${t("settings.rejectCalls")}
          value=${draft.rejectCalls.enabled}
          on=${(enabled) => change({ rejectCalls: { ...draft.rejectCalls, enabled } })}
        />
      </fieldset>
      ${draft.rejectCalls.enabled &&
      html`<${Field} label=${t("settings.rejectMessage")} help=${t("settings.rejectHelp")}
        >${(ties) =>
          html`<textarea
            class="input"
            rows="2"
            value=${draft.rejectCalls.message}
            onInput=${(event) => change({ rejectCalls: { ...draft.rejectCalls, message: event.target.value } })}
            ...${ties}
          ></textarea>`}<//
      >`}
      <fieldset>
        <legend class="label">${t("settings.ignore")}</legend>
        <p class="quiet">${t("settings.ignoreHelp")}</p>
        <div class="flags-list">
          ${["groups", "status", "newsletters", "broadcasts"].map(
            (one) =>
              html`<${Check}
                key=${one}
                label=${t("filter." + one)}
                value=${draft.ignore[one]}
                on=${(is) => ignore({ [one]: is })}
              />`,
          )}
        </div>
      </fieldset>
      <${Field} label=${t("settings.jids")} help=${t("settings.jidsHelp")}
        >${(ties) =>
          html`<textarea
            class="input code"
            rows="3"
            value=${draft.ignore.jids.join("\n")}
            onInput=${(event) => ignore({ jids: event.target.value.split("\n") })}
            spellcheck=${false}
            ...${ties}
          ></textarea>`}<//
      >
      <fieldset>
        <legend class="label">${t("settings.history")}</legend>
        <div class="row">
          <${Text}
            label=${t("settings.days")}
            help=${t("settings.daysHelp")}
            value=${draft.history.days}
            on=${(days) => change({ history: { ...draft.history, days } })}
            inputmode="numeric"
          />
        </div>
        <${Check}
          label=${t("settings.historyGroups")}
          value=${draft.history.groups}
          on=${(groups) => change({ history: { ...draft.history, groups } })}
        />
      </fieldset>`}<//
  >`;
}
