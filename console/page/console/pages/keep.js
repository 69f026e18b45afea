// Operator pages: audit log, backups and configuration.
import { useEffect, useState } from "preact/hooks";
import { call } from "../data/api.js";
import { useCell } from "../data/cell.js";
import { useLoaded } from "../data/loaded.js";
import { loadSamples, samples } from "../data/samples.js";
import { html } from "../html.js";
import { choose } from "../router.js";
import { useTitle } from "../ui/float.js";
import { Button, Check, Empty, Loading, Notice, Search, Select, Text, Trouble } from "../ui/parts.js";
import { More, Readers, When, save, useRows, useSoon } from "../ui/sheet.js";
import { Windowed } from "../ui/windowed.js";
import { ago, bytes, many, moment, number, span, t } from "../words.js";

const Head = ({ name, children }) => {
  useTitle(t("nav." + name));
  return html`<div class="page-head">
    <div>
      <h1 tabindex="-1">${t("nav." + name)}</h1>
      <p class="lead">${children}</p>
    </div>
  </div>`;
};

const kinds = [
  "backup",
  "instance",
  "key",
  "limits",
  "log",
  "mcp",
  "portal",
  "proxy",
  "session",
  "settings",
  "token",
  "webhook",
];
const sought = ["action", "subject", "actor", "since", "until"];

export function Audit({ query }) {
  const chosen = Object.fromEntries(sought.map((name) => [name, query.get(name) || ""]));
  const rows = useRows("/audit", useSoon(chosen));
  const keys = useLoaded("/keys?limit=200");
  const { value } = rows;
  const names = Object.fromEntries((keys.value?.records || []).map((key) => [key.id, key.name]));
  const draw = (row) =>
    html`<div role="cell" class="cell" tabindex="-1">
        <span class="one-line figures wide-only">${moment(row.at)}</span
        ><span class="quiet one-line">${ago(row.at)}</span>
      </div>
      <div role="cell" class="cell">
        <span class="mono one-line">${row.action}</span
        ><span class="one-line narrow-only">${names[row.subject] || row.subject}</span>
      </div>
      <div role="cell" class="cell wide-only">
        <span class="one-line" title=${row.subject}>${names[row.subject] || row.subject || "–"}</span>
      </div>
      <div role="cell" class="cell">
        <span class="one-line" title=${row.actor}
          >${row.actor === "global" ? t("who.operator") : names[row.actor] || row.actor}</span
        ><span class="quiet one-line">${row.from}</span>
      </div>`;
  const whole = [["", t("group.all")]],
    narrowed = sought.filter((name) => chosen[name]).length;
  return html`<${Head} name="audit">${t("audit.lead")}<//>
    <details class="further" open=${narrowed > 0}>
      <summary>
        ${t("delivery.further")}${narrowed > 0 && html` <span class="figures">(${number(narrowed)})</span>`}
      </summary>
      <div class="form">
        <div class="row">
          <${Select}
            label=${t("audit.what")}
            value=${chosen.action}
            on=${(action) => choose({ action })}
            options=${[...whole, ...kinds.map((kind) => [kind, kind])]}
          /><${Text}
            label=${t("audit.of")}
            value=${chosen.subject}
            on=${(subject) => choose({ subject })}
            maxlength="255"
          />
          <${Select}
            label=${t("audit.who")}
            value=${chosen.actor}
            on=${(actor) => choose({ actor })}
            options=${[...whole, ["global", t("who.operator")], ...Object.entries(names)]}
          /><${When} label=${t("limits.from")} value=${chosen.since} on=${(since) => choose({ since })} /><${When}
            label=${t("limits.to")}
            value=${chosen.until}
            on=${(until) => choose({ until })}
          />
        </div>
      </div>
    </details>
    <${Trouble} error=${rows.error} again=${rows.load} />
    ${!value
      ? !rows.error && html`<${Loading} />`
      : value.records.length === 0
        ? html`<div class="card"><${Empty} icon="audit" title=${t(narrowed ? "instances.none" : "audit.none")} /></div>
            <${More} rows=${rows} />`
        : html`<div class="sheet audit">
              <${Windowed}
                items=${value.records}
                height=${4}
                keyOf=${(row) => row.id}
                label=${t("nav.audit")}
                draw=${draw}
                head=${html`<div role="row" class="row-head" aria-rowindex="1">
                  ${[t("delivery.made"), t("audit.what"), t("audit.of"), t("audit.who")].map(
                    (word, i) =>
                      html`<span role="columnheader" key=${i} class=${i === 2 ? "wide-only" : ""}>${word}</span>`,
                  )}
                </div>`}
              />
            </div>
            <${More} rows=${rows} />`}`;
}

// useAct runs a slow action and holds its result.
function useAct(act) {
  const [result, setResult] = useState(null);
  const [error, setError] = useState(null);
  const go = async () => {
    setError(null);
    setResult(null);
    try {
      setResult(await act());
    } catch (reason) {
      setError(reason);
    }
  };
  return { result, error, go };
}

export function Backups() {
  const { backup, at, error } = useCell(samples);
  useEffect(() => {
    loadSamples();
  }, []);
  return html`<${Head} name="backups">${t("backups.lead")}<//>
    <div class="stack">
      <${Trouble} error=${error} again=${loadSamples} />
      ${at > 0 &&
      (!backup
        ? html`<${Notice} tone="busy" icon="info" title=${t("backups.off")}>${t("figure.manualHelp")}<//>`
        : backup.failure
          ? html`<${Notice} tone="bad" title=${t("backups.failed", { time: moment(backup.failedAt) })}
              >${backup.failure}<//
            >`
          : "")}
      ${backup &&
      html`<section class="card">
        <header><h2>${t("backups.own")}</h2></header>
        <dl class="facts">
          <dt>${t("backups.every")}</dt>
          <dd>${isNaN(backup.every) ? backup.every : span(backup.every)}</dd>
          <dt>${t("figure.backup")}</dt>
          <dd>
            ${backup.lastAt
              ? html`${moment(backup.lastAt)} <span class="quiet">${ago(backup.lastAt)} · ${bytes(backup.bytes)}</span>`
              : t("figure.never")}
          </dd>
        </dl>
      </section>`}
      <div class="pair"><${Make} /><${Look} /></div>
    </div>`;
}

function Make() {
  const [secrets, setSecrets] = useState(true);
  const [recipients, setRecipients] = useState([]);
  const made = useAct(() =>
    save("POST", "/admin/backup", {
      ...(!secrets && { withoutSecrets: true }),
      ...(recipients.length && { recipients }),
    }),
  );
  return html`<section class="card">
    <header>
      <h2>${t("backups.make")}</h2>
      <p>${t("backups.makeText")}</p>
    </header>
    <div class="form">
      <${Check} label=${t("backups.secrets")} help=${t("backups.secretsHelp")} value=${secrets} on=${setSecrets} />
      <${Readers} on=${setRecipients} />
      <${Trouble} error=${made.error} />${made.result &&
      html`<${Notice} tone="good" live="status" title=${t("backups.done")}
        ><span class="mono">${made.result.name}</span> · ${bytes(made.result.size)}<//
      >`}
    </div>
    <footer><${Button} kind="first" icon="download" word=${t("backups.do")} act=${made.go} /></footer>
  </section>`;
}

function Look() {
  const { result, error, go } = useAct(() => call("POST", "/admin/check", undefined, { patience: 3600000 }));
  return html`<section class="card">
    <header>
      <h2>${t("check.title")}</h2>
      <p>${t("check.text")}</p>
    </header>
    <${Trouble} error=${error} />${result &&
    html`<${Notice}
        tone=${result.faults.length ? "bad" : "good"}
        live="status"
        title=${result.faults.length ? many("check.faults", result.faults.length) : t("check.good")}
        >${many("check.read", result.records, { bytes: bytes(result.bytes) })}<//
      >
      ${result.faults.length > 0 &&
      html`<ul class="plain faults">
        ${result.faults.slice(0, 100).map((one, i) => html`<li key=${i}>${one}</li>`)}
      </ul>`}`}
    <footer><${Button} icon="search" word=${t("check.do")} act=${go} /></footer>
  </section>`;
}

export function Configuration({ query }) {
  const loaded = useLoaded("/admin/config");
  const { value } = loaded;
  const wanted = (query.get("q") || "").trim().toLowerCase(),
    own = query.get("own") === "1";
  const shown = (value?.settings || []).filter(
    (one) =>
      (!own || one.source !== "default") &&
      [one.name, one.about, text(one.value), one.source].some((part) => part.toLowerCase().includes(wanted)),
  );
  const parts = [...new Set(shown.map((one) => one.name.split(".")[0]))];
  return html`<${Head} name="configuration">${t("config.lead")}<//>
    <div class="toolbar">
      <${Search} word=${t("config.search")} value=${query.get("q") || ""} on=${(text) => choose({ q: text })} wide />
      <${Check} label=${t("config.own")} value=${own} on=${(is) => choose({ own: is ? "1" : "" })} />
    </div>
    <div class="stack">
      <${Trouble} error=${loaded.error} again=${loaded.load} />${!value && !loaded.error && html`<${Loading} />`}
      ${value?.warnings?.map(
        (one) => html`<${Notice} key=${one} tone="busy" icon="info" title=${t("alerts.warning")}>${one}<//>`,
      )}
      ${value?.pending?.length > 0 &&
      html`<${Notice} tone="wait" icon="restart" title=${t("config.pending")}
        ><span class="mono">${value.pending.join(", ")}</span><//
      >`}
      ${value &&
      (shown.length === 0
        ? html`<${Empty} icon="search" title=${t("instances.none")} />`
        : parts.map(
            (part) =>
              html`<section class="card" key=${part}>
                <header><h2 class="mono">${part}</h2></header>
                <dl class="config">
                  ${shown
                    .filter((one) => one.name.split(".")[0] === part)
                    .map(
                      (one) =>
                        html`<div key=${one.name}>
                          <dt class="mono">${one.name}</dt>
                          <dd>
                            <span class="mono">${text(one.value) || html`<span class="quiet">""</span>`}</span
                            >${one.source !== "default" && html` <span class="source">${one.source}</span>`}
                          </dd>
                          <dd class="quiet" lang="en">
                            ${one.about}${one.source !== "default" &&
                            one.default !== null &&
                            html` <span>${t("config.default", { value: text(one.default) || '""' })}</span>`}
                          </dd>
                        </div>`,
                    )}
                </dl>
              </section>`,
          ))}
    </div>`;
}

const text = (value) =>
  Array.isArray(value)
    ? value.map(text).join(", ")
    : value !== null && typeof value === "object"
      ? JSON.stringify(value)
      : String(value ?? "");
