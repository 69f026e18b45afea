// Actions on the chosen instances, and the panel of what became of them.
import { useEffect, useState } from "preact/hooks";
import { call, get, instancePath } from "../data/api.js";
import { useCell } from "../data/cell.js";
import { change, drop, fleet, put } from "../data/fleet.js";
import { useKept } from "../data/loaded.js";
import { can } from "../data/session.js";
import { linked } from "../data/states.js";
import { begin, dismiss, retry, stop, work } from "../data/work.js";
import { html } from "../html.js";
import { pairAll } from "../pairing/dialog.js";
import { Cancel, Dialog, Menu, close, confirm, open } from "../ui/float.js";
import { Flags } from "../ui/editors.js";
import { Button, Check, Meter, Text, Trouble, troubleOf } from "../ui/parts.js";
import { many, number, t } from "../words.js";
import { chosen } from "./instance_rows.js";
import { numbers } from "./instance_settings.js";

const patience = 60000;
const rowOf = (name) => fleet.value.rows.find((row) => row.name === name) || { name };

// Calls on one instance, by the name of the action.
const calls = {
  restart: (name) => change(name, "POST", "/restart"),
  async connect(name) {
    if (!rowOf(name).ownerJid) throw new Error(t("many.needsPhone"));
    await get(instancePath(name) + "/connect", { patience });
  },
  logout: (name) => change(name, "DELETE", "/logout"),
  async delete(name) {
    await call("DELETE", instancePath(name) + "?force=true", undefined, { patience });
    drop(name);
  },
};

const titleOf = (what, names) => many("many.work", names.length, { what });

const ask = (what, names, more) =>
  confirm({
    title: many("many.sure", names.length, { what: t(what + ".do") }),
    children: t(what + ".text"),
    word: t(what + ".do"),
    harm: false,
    act: async () => {
      begin(titleOf(t(what + ".do"), names), names, calls[what]);
    },
    ...more,
  });

// actionsOn returns the actions on the chosen rows that the session permits.
function actionsOn(names, rows) {
  const dialog = (Shown) => () => open(() => html`<${Shown} names=${names} />`);
  const unpaired = rows
    .filter((row) => !linked(row.connectionStatus) && row.connectionStatus !== "moved")
    .map((row) => row.name);
  return [
    can("manage") && { word: t("restart.do"), icon: "restart", act: () => ask("restart", names) },
    can("pair") && {
      word: t("connect.do"),
      icon: "link",
      act: () => {
        begin(titleOf(t("connect.do"), names), names, calls.connect);
      },
    },
    can("pair") && unpaired.length > 0 && { word: t("many.pair"), icon: "phone", act: () => pairAll(unpaired) },
    can("manage") && { word: t("tags.do"), icon: "clip", act: dialog(TagsOfMany) },
    can("webhook") && { word: t("webhook.title"), icon: "deliveries", act: dialog(HookOfMany) },
    can("manage") && { word: t("limits.title"), icon: "settings", act: dialog(LimitsOfMany) },
    can("manage") && null,
    can("manage") && {
      word: t("logout.do"),
      icon: "unlink",
      harm: true,
      act: () => ask("logout", names, { harm: true }),
    },
    can("manage") && {
      word: t("delete.do"),
      icon: "trash",
      harm: true,
      act: () => ask("delete", names, { harm: true, typed: String(names.length) }),
    },
  ].filter((item) => item || item === null);
}

// Many is the bar of the chosen rows.
export function Many({ rows }) {
  const names = useCell(chosen),
    { running } = useCell(work) || {};
  const picked = rows.filter((row) => names.has(row.name));
  if (!picked.length) return null;
  const items = actionsOn(
    picked.map((row) => row.name),
    picked,
  );
  return html`<div class="many" role="region" aria-label=${t("many.title")}>
    <strong class="figures" role="status">${many("many.chosen", picked.length)}</strong>
    ${running
      ? html`<span class="quiet">${t("many.busy")}</span>`
      : html`<${Menu} word=${t("many.title")} kind="first" icon="up" items=${items}>${t("many.title")}<//>`}
    <${Button}
      kind="bare"
      icon="close"
      word=${t("many.none")}
      act=${() => {
        document.querySelector(".row-head input").focus({ preventScroll: true }); // the head is always in view
        chosen.set(new Set());
      }}
    />
  </div>`;
}

// Panel shows the work on many instances.
export function Panel() {
  const now = useCell(work);
  const left = useSeconds(now?.until);
  if (!now) return null;
  const { title, items, running } = now;
  const count = (state) => items.filter((item) => item.state === state).length;
  const done = count("done"),
    failed = count("failed"),
    over = count("left");
  const reasons = new Map();
  for (const { state, name, error } of items)
    if (state === "failed") reasons.set(troubleOf(error), [...(reasons.get(troubleOf(error)) || []), name]);
  const sums = [many("work.done", done), failed > 0 && many("work.failed", failed), over > 0 && many("work.left", over)]
    .filter(Boolean)
    .join(", ");
  return html`<section class="card work" aria-label=${title}>
    <div class="between">
      <p><strong>${title}</strong> · <span class="figures">${sums}</span></p>
      <div class="buttons">
        ${running
          ? html`<${Button}
              kind="small harm"
              word=${t("work.stop")}
              act=${() => {
                stop();
              }}
            />`
          : html`${failed > 0 &&
              html`<${Button}
                kind="small"
                icon="restart"
                word=${t("work.again")}
                act=${() => {
                  retry();
                }}
              />`}<${Button}
                kind="bare square small"
                icon="close"
                word=${t("close")}
                act=${() => {
                  dismiss();
                }}
              />`}
      </div>
    </div>
    <${Meter} used=${done + failed + over} of=${items.length} label=${title} plain />
    ${running && left > 0 && html`<p class="quiet figures">${many("trouble.wait", left)}</p>`}
    <p class="unseen" role="status">${running ? "" : t("work.over") + " " + sums}</p>
    ${reasons.size > 0 &&
    html`<ul class="plain reasons">
      ${[...reasons].map(
        ([why, names]) =>
          html`<li key=${why}>
            <strong>${why}</strong>${" "}<span class="figures">(${number(names.length)})</span>${" "}<span class="quiet"
              >${names.slice(0, 20).join(", ")}${names.length > 20 && " …"}</span
            >
          </li>`,
      )}
    </ul>`}
  </section>`;
}

function useSeconds(until) {
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    if (!until) return;
    const timer = setInterval(() => setNow(Date.now()), 1000);
    return () => clearInterval(timer);
  }, [until]);
  return until ? Math.max(0, Math.ceil((until - now) / 1000)) : 0;
}

// Change is a dialog whose form applies to all chosen instances.
function Change({ names, title, about, ready, act, done, children }) {
  const go = () => {
    done();
    close();
    begin(titleOf(title, names), names, act);
  };
  return html`<${Dialog}
    title=${titleOf(title, names)}
    footer=${html`<${Cancel} /><${Button}
        kind="first"
        word=${many("many.apply", names.length)}
        disabled=${!ready}
        act=${go}
      />`}
    >${about && html`<p>${about}</p>`}
    <form class="form" novalidate onSubmit=${(event) => event.preventDefault()}>${children}</form><//
  >`;
}

const split = (text) => [
  ...new Set(
    text
      .split(",")
      .map((one) => one.trim())
      .filter(Boolean),
  ),
];

function TagsOfMany({ names }) {
  const [[more, less], setForm, done] = useKept("/instance/tags", ["", ""]);
  const act = async (name) => {
    const own = (rowOf(name).tags || []).filter((tag) => !split(less).includes(tag));
    put({
      name,
      ...(await call("PUT", instancePath(name) + "/tags", { tags: [...new Set([...own, ...split(more)])] })),
    });
  };
  return html`<${Change}
    names=${names}
    title=${t("column.tags")}
    ready=${split(more + "," + less).length > 0}
    act=${act}
    done=${done}
  >
    <${Text}
      label=${t("tags.add")}
      help=${t("tags.help")}
      value=${more}
      on=${(text) => setForm([text, less])} /><${Text}
      label=${t("tags.remove")}
      value=${less}
      on=${(text) => setForm([more, text])}
  /><//>`;
}

function HookOfMany({ names }) {
  const [{ url, enabled, events }, setForm, done] = useKept("/instance/webhook", {
    url: "",
    enabled: true,
    events: {},
  });
  const change = (part) => setForm({ url, enabled, events, ...part });
  const act = async (name) => {
    const set = Object.fromEntries(Object.entries(events).filter(([, is]) => is));
    put({
      name,
      Webhook: await call("PUT", instancePath(name) + "/webhook", { url: url.trim(), enabled, events: set }),
    });
  };
  return html`<${Change}
    names=${names}
    title=${t("webhook.title")}
    about=${t("many.webhook")}
    ready=${/^https?:\/\/./.test(url.trim())}
    act=${act}
    done=${done}
  >
    <${Text}
      label=${t("webhook.url")}
      help=${t("webhook.urlHelp")}
      kind="code"
      type="url"
      maxlength="500"
      placeholder="https://example.org/hook"
      value=${url}
      on=${(to) => change({ url: to })} />
    <${Check}
      label=${t("webhook.enabled")}
      help=${t("webhook.enabledHelp")}
      value=${enabled}
      on=${(is) => change({ enabled: is })} />
    <${Flags} value=${events} on=${(flags) => change({ events: flags })}
  /><//>`;
}

function LimitsOfMany({ names }) {
  const [form, setForm, done] = useKept("/instance/limits", {});
  const given = numbers.filter((name) => form[name]?.trim());
  const act = async (name) => {
    const path = instancePath(name) + "/limits";
    const limits = Object.fromEntries(Object.entries(await get(path)).filter(([, value]) => value !== null));
    for (const one of given) {
      if (form[one].trim() === "-") delete limits[one];
      else limits[one] = Number(form[one]);
    }
    await call("PUT", path, limits);
  };
  const right = given.every((one) => /^(-|\d+)$/.test(form[one].trim()));
  return html`<${Change}
    names=${names}
    title=${t("limits.title")}
    about=${t("many.limits")}
    ready=${given.length > 0 && right}
    act=${act}
    done=${done}
  >
    <div class="row">
      ${numbers.map(
        (name) =>
          html`<${Text}
            key=${name}
            label=${t("limits." + name)}
            inputmode="numeric"
            placeholder=${t("many.asIs")}
            value=${form[name] || ""}
            on=${(text) => setForm({ ...form, [name]: text })}
          />`,
      )}
    </div><//
  >`;
}

// editTags changes the tags of one instance.
export const editTags = (row) => open(() => html`<${OneTags} row=${row} />`);

function OneTags({ row }) {
  const [text, setText, done] = useKept(instancePath(row.name) + "/tags", (row.tags || []).join(", "));
  const [error, setError] = useState(null);
  const save = async () => {
    setError(null);
    try {
      put({ name: row.name, ...(await call("PUT", instancePath(row.name) + "/tags", { tags: split(text) })) });
      done();
      close();
    } catch (reason) {
      setError(reason);
    }
  };
  const submit = (event) => {
    event.preventDefault();
    event.target.closest("dialog").querySelector("footer .first").click();
  };
  return html`<${Dialog}
    title=${t("tags.of", { name: row.name })}
    footer=${html`<${Cancel} /><${Button} kind="first" word=${t("save")} act=${save} />`}
    ><form onSubmit=${submit} novalidate>
      <${Text}
        label=${t("column.tags")}
        help=${t("tags.help")}
        wrong=${error?.code === "INVALID_TAG" ? troubleOf(error) : ""}
        value=${text}
        on=${setText}
      />
    </form>
    ${error && error.code !== "INVALID_TAG" && html`<${Trouble} error=${error} />`}<//
  >`;
}
