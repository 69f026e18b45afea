// Scoped keys: holders, scopes and last use.
import { useEffect, useState } from "preact/hooks";
import { call } from "../data/api.js";
import { useCell } from "../data/cell.js";
import { fleet, loadFleet } from "../data/fleet.js";
import { useLoaded } from "../data/loaded.js";
import { html } from "../html.js";
import { Cancel, Dialog, Menu, close, confirm, open, toast, useTitle } from "../ui/float.js";
import { Button, Check, Empty, Field, Loading, Select, Text, Trouble } from "../ui/parts.js";
import { Mark, More, When, useRows } from "../ui/sheet.js";
import { Windowed } from "../ui/windowed.js";
import { ago, many, moment, number, t } from "../words.js";
import { Secret } from "./instance_actions.js";

const scopes = ["read", "send", "manage", "pair", "webhook", "deliveries", "media", "batch", "metrics"];

export function Keys() {
  useTitle(t("nav.keys"));
  const rows = useRows("/keys", {}, 200);
  useEffect(() => {
    if (!fleet.value.at) loadFleet().catch(() => {});
  }, []);
  const { value } = rows;
  const make = html`<${Button}
    kind="first"
    icon="plus"
    word=${t("keys.new")}
    act=${() => {
      edit(null, rows.load);
    }}
  />`;
  const draw = (row) => html`<${Row} row=${row} load=${rows.load} />`;
  return html`<div class="page-head">
      <div>
        <h1 tabindex="-1">${t("nav.keys")}</h1>
        <p class="lead">${t("keys.lead")}</p>
      </div>
      ${value?.records.length > 0 && html`<div class="buttons">${make}</div>`}
    </div>
    <${Trouble} error=${rows.error} again=${rows.load} />
    ${!value
      ? !rows.error && html`<${Loading} />`
      : value.records.length === 0
        ? html`<div class="card">
            <${Empty} icon="key" title=${t("keys.none")} buttons=${make}>${t("keys.noneText")}<//>
          </div>`
        : html`<div class="sheet keys">
              <${Windowed}
                items=${value.records}
                height=${4}
                keyOf=${(row) => row.id}
                label=${t("nav.keys")}
                draw=${draw}
                head=${html`<div role="row" class="row-head" aria-rowindex="1">
                  ${[t("column.name"), t("keys.scopes"), t("nav.instances"), t("keys.used")].map(
                    (word, i) =>
                      html`<span role="columnheader" key=${i} class=${i === 1 || i === 2 ? "wide-only" : ""}
                        >${word}</span
                      >`,
                  )}<span role="columnheader"><span class="unseen">${t("column.actions")}</span></span>
                </div>`}
              />
            </div>
            <${More} rows=${rows} />`}`;
}

const whose = (row) => (row.instances[0] === "*" ? t("group.all") : row.instances.join(", ") || "–");

function Row({ row, load }) {
  const over = row.expiresAt && Date.parse(row.expiresAt) < Date.now();
  return html`<div role="cell" class="cell name">
      <button type="button" class="plain one-line" title=${row.name} onClick=${() => edit(row, load)}>
        ${row.name}
      </button>
      ${over
        ? html`<${Mark} tone="off" word=${t("keys.over")} />`
        : html`<span class="quiet one-line"
            >${row.expiresAt ? t("keys.until", { time: moment(row.expiresAt) }) : t("keys.forever")}</span
          >`}
    </div>
    <div role="cell" class="cell wide-only">
      <span class="one-line" title=${row.scopes.join(", ")}>${row.scopes.join(", ")}</span>${(row.recipients ||
        row.rateLimit) &&
      html`<span class="quiet one-line"
        >${[
          row.recipients && many("keys.recipients", row.recipients.length),
          row.rateLimit && t("keys.perMinute", { n: number(row.rateLimit.perMinute) }),
        ]
          .filter(Boolean)
          .join(" · ")}</span
      >`}
    </div>
    <div role="cell" class="cell wide-only"><span class="one-line" title=${whose(row)}>${whose(row)}</span></div>
    <div role="cell" class="cell">
      ${row.lastUsedAt
        ? html`<span class="one-line" title=${moment(row.lastUsedAt)}>${ago(row.lastUsedAt)}</span
            ><span class="quiet one-line">${row.lastUsedFrom}</span>`
        : html`<span class="quiet">${t("figure.never")}</span>`}
    </div>
    <div role="cell" class="cell act">
      <${Menu}
        word=${t("actions.of", { name: row.name })}
        kind="square bare small"
        items=${[
          { word: t("edit"), icon: "settings", act: () => edit(row, load) },
          null,
          { word: t("delete.do"), icon: "trash", harm: true, act: () => remove(row, load) },
        ]}
      />
    </div>`;
}

function remove(row, load) {
  const asked = {};
  confirm({
    title: t("delete.title", { name: row.name }),
    children: t("keys.deleteText"),
    extra: html`<${Running} row=${row} asked=${asked} />`,
    word: t("delete.do"),
    typed: row.name,
    act: async () => {
      await call("DELETE", "/keys/" + row.id + (asked.stop ? "?stop=true" : ""), undefined, { patience: 60000 });
      load();
      toast(t("delete.done", { name: row.name }));
    },
  });
}

// Running lists what continues without the key unless it is stopped too.
function Running({ row, asked }) {
  const { value, error, load } = useLoaded("/keys/" + row.id);
  const [stop, setStop] = useState(false);
  if (!value) return html`<${Trouble} error=${error} again=${load} />`;
  const { batches, totalBatches, webhooks, totalWebhooks, scheduled, totalScheduled } = value;
  const shown = [
    ...batches.slice(0, 5).map((one) => [one.name, t("batch.state." + one.status)]),
    ...webhooks.slice(0, 5).map((one) => [one.instanceName, one.url]),
    ...scheduled.slice(0, 5).map((one) => [one.instanceName, moment(one.sendAt)]),
  ];
  const more = totalBatches + totalWebhooks + totalScheduled - shown.length;
  return (
    shown.length > 0 &&
    html`<div class="form">
      <p>
        ${t("keys.running", {
          batches: number(totalBatches),
          webhooks: number(totalWebhooks),
          scheduled: number(totalScheduled),
        })}
      </p>
      <ul class="faults running">
        ${shown.map(
          ([name, rest], i) =>
            html`<li class="one-line" key=${i}><bdi>${name}</bdi> <span class="quiet">${rest}</span></li>`,
        )}${more > 0 && html`<li class="one-line">${t("keys.more", { n: number(more) })}</li>`}
      </ul>
      <${Check}
        label=${t("keys.stop")}
        help=${t("keys.stopHelp")}
        value=${stop}
        on=${(is) => setStop((asked.stop = is))}
      />
    </div>`
  );
}

const edit = (row, load) => open(() => html`<${Edit} row=${row} load=${load} />`);

const days = [1, 30, 90, 365];
const uuid = () =>
  [...crypto.getRandomValues(new Uint8Array(16))]
    .map((b, i) => (i === 6 ? (b & 15) | 64 : i === 8 ? (b & 63) | 128 : b).toString(16).padStart(2, "0"))
    .join("")
    .replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");

// Edit creates or changes a key. The scopes of an existing key are fixed.
function Edit({ row, load }) {
  const [form, setForm] = useState(() => ({
    name: row?.name || "",
    everywhere: !row || row.instances[0] === "*",
    instances: (row?.instances || []).filter((one) => one !== "*"),
    scopes: row?.scopes || ["read"],
    userId: row?.userId || "",
    recipients: (row?.recipients || []).join("\n"),
    until: row ? (row.expiresAt ? "at" : "") : "90",
    expiresAt: row?.expiresAt || "",
    perMinute: row?.rateLimit?.perMinute || "",
  }));
  const [error, setError] = useState(null);
  const put = (part) => setForm((before) => ({ ...before, ...part }));
  const toggle = (name, one, is) =>
    put({ [name]: is ? [...form[name], one] : form[name].filter((other) => other !== one) });
  const save = async () => {
    setError(null);
    const { name, everywhere, userId, until } = form,
      rate = Number(form.perMinute),
      recipients = form.recipients.split(/[\s,;]+/).filter(Boolean);
    const expiresAt = until === "at" ? form.expiresAt : until && new Date(Date.now() + +until * 86400000).toISOString();
    const body = { name: name.trim(), instances: everywhere ? ["*"] : form.instances };
    try {
      if (row)
        await call("PATCH", "/keys/" + row.id, {
          ...body,
          expiresAt,
          recipients: recipients.length ? recipients : ["*"],
          rateLimit: { perMinute: rate },
        });
      else {
        const made = await call("POST", "/keys", {
          ...body,
          scopes: form.scopes,
          ...(form.scopes.includes("batch") && { userId: userId.trim() }),
          ...(expiresAt && { expiresAt }),
          ...(recipients.length && { recipients }),
          ...(rate && { rateLimit: { perMinute: rate } }),
        });
        setTimeout(() => show(made));
      }
      close();
      load();
      if (row) toast(t("saved"));
    } catch (reason) {
      setError(reason);
    }
  };
  const submit = (event) => {
    event.preventDefault();
    event.target.closest("dialog").querySelector("footer .first").click();
  };
  return html`<${Dialog}
    wide
    title=${row ? t("edit.of", { name: row.name }) : t("keys.new")}
    footer=${html`<${Cancel} /><${Button} kind="first" word=${row ? t("save") : t("keys.make")} act=${save} />`}
    ><form class="form" onSubmit=${submit} novalidate>
      <${Text}
        label=${t("column.name")}
        help=${t("keys.nameHelp")}
        value=${form.name}
        on=${(name) => put({ name })}
        maxlength="255"
        autofocus
      />${row
        ? html`<div>
            <p class="label">${t("keys.scopes")}</p>
            <p class="mono">${row.scopes.join(", ")}</p>
            <p class="help quiet">${t("keys.stay")}</p>
          </div>`
        : html`<fieldset>
            <legend class="label">${t("keys.scopes")}</legend>
            <div class="flags-list">
              ${scopes.map(
                (one) =>
                  html`<${Check}
                    key=${one}
                    label=${html`<span class="mono">${one}</span>`}
                    help=${t("scope." + one)}
                    value=${form.scopes.includes(one)}
                    on=${(is) => toggle("scopes", one, is)}
                  />`,
              )}
            </div>
          </fieldset>`}${form.scopes.includes("batch") &&
      !row &&
      html`<div class="with-button end">
        <${Text}
          label=${t("keys.user")}
          help=${t("keys.userHelp")}
          kind="code"
          value=${form.userId}
          on=${(userId) => put({ userId })}
        /><${Button}
          word=${t("keys.makeUser")}
          act=${() => {
            put({ userId: uuid() });
          }}
        />
      </div>`}<${Whose} form=${form} put=${put} toggle=${toggle} /><${Field}
        label=${t("keys.people")}
        help=${t("keys.peopleHelp")}
        >${(ties) =>
          html`<textarea
            class="input code"
            rows="2"
            value=${form.recipients}
            onInput=${({ target }) => put({ recipients: target.value })}
            spellcheck=${false}
            ...${ties}
          ></textarea>`}<//
      >
      <div class="row">
        <${Select}
          label=${t("keys.ends")}
          value=${form.until}
          on=${(until) => put({ until })}
          options=${[
            ["", t("figure.never")],
            ...days.map((n) => [String(n), many("keys.days", n)]),
            ["at", t("keys.at")],
          ]}
        />${form.until === "at" &&
        html`<${When} label=${t("keys.at")} value=${form.expiresAt} on=${(expiresAt) => put({ expiresAt })} />`}<${Text}
          label=${t("keys.rate")}
          type="number"
          min="1"
          placeholder=${t("limits.unset")}
          value=${form.perMinute}
          on=${(perMinute) => put({ perMinute })}
        />
      </div>
      <button hidden></button>
    </form>
    <${Trouble} error=${error}
  /><//>`;
}

function Whose({ form, put, toggle }) {
  const names = useCell(fleet, ({ rows }) => rows);
  const [wanted, setWanted] = useState("");
  const found = [...new Set([...form.instances, ...names.map((row) => row.name)])].filter((name) =>
    name.toLowerCase().includes(wanted.trim().toLowerCase()),
  );
  return html`<fieldset>
    <legend class="label">${t("nav.instances")}</legend>
    <${Check}
      type="radio"
      name="whose"
      label=${t("keys.everywhere")}
      value=${form.everywhere}
      on=${() => put({ everywhere: true })}
    /><${Check}
      type="radio"
      name="whose"
      label=${t("keys.chosen")}
      value=${!form.everywhere}
      on=${() => put({ everywhere: false })}
    />
    ${!form.everywhere &&
    html`<div class="chosen-names">
      <input
        class="input"
        type="search"
        placeholder=${t("keys.find")}
        aria-label=${t("keys.find")}
        value=${wanted}
        onInput=${({ target }) => setWanted(target.value)}
        onKeyDown=${(event) => event.key === "Enter" && event.preventDefault()}
      />
      <div class="flags-list scrolled">
        ${found
          .slice(0, 100)
          .map(
            (name) =>
              html`<${Check}
                key=${name}
                label=${name}
                value=${form.instances.includes(name)}
                on=${(is) => toggle("instances", name, is)}
              />`,
          )}
      </div>
    </div>`}
  </fieldset>`;
}

// show shows the key's text, which is not available later.
const show = (made) =>
  open(
    () =>
      html`<${Dialog}
        title=${t("keys.made", { name: made.name })}
        footer=${html`<${Button}
          kind="first"
          word=${t("done")}
          act=${() => {
            close();
          }}
        />`}
      >
        <p>${t("keys.once")}</p>
        <${Secret} label=${t("signIn.key")} value=${made.key}
      /><//>`,
  );
