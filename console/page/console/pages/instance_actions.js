// Actions of an instance, in the list and on its page.
import { useRef, useState } from "preact/hooks";
import { call, instancePath } from "../data/api.js";
import { change, drop, loadFleet, put } from "../data/fleet.js";
import { useKept } from "../data/loaded.js";
import { can } from "../data/session.js";
import { linked } from "../data/states.js";
import { html } from "../html.js";
import { connect } from "../pairing/dialog.js";
import { go, place } from "../router.js";
import { Cancel, Dialog, Menu, close, confirm, open, toast } from "../ui/float.js";
import { Button, Check, Copy, Field, Select, Text, Trouble, troubleOf } from "../ui/parts.js";
import { Readers, save } from "../ui/sheet.js";
import { moment, t } from "../words.js";
import { editTags } from "./instance_many.js";

// actionsOf returns the menu of an instance that the session permits.
export function actionsOf(row, own) {
  const is = linked(row.connectionStatus),
    moved = row.connectionStatus === "moved";
  return tidy(
    [
      !own && { word: t("open.do"), icon: "right", act: () => go(["instances", row.name]) },
      can("manage") && is && { word: t("restart.do"), icon: "restart", act: () => restart(row) },
      can("pair") && !is && !moved && { word: t("connect.do"), icon: "link", act: () => connect(row.name) },
      can("pair") && !moved && { word: t("invite.do"), icon: "phone", act: () => invite(row.name) },
      can("manage") && { word: t("tags.do"), icon: "clip", act: () => editTags(row) },
      can("operator") && { word: t("token.do"), icon: "key", act: () => newToken(row) },
      null,
      can("operator") && is && { word: t("move.do"), icon: "leave", act: () => move(row) },
      can("operator") && moved && { word: t("undo.do"), icon: "restart", act: () => takeBack(row) },
      can("manage") && is && { word: t("logout.do"), icon: "unlink", harm: true, act: () => logout(row) },
      own && can("manage") && is && { word: t("reset.do"), icon: "unlink", harm: true, act: () => reset(row) },
      can("manage") && { word: t("delete.do"), icon: "trash", harm: true, act: () => remove(row) },
    ].filter((item) => item || item === null),
  );
}

// Acts shows the main actions and the menu of the others.
export function Acts({ row, large }) {
  const waits = !linked(row.connectionStatus) && row.connectionStatus !== "moved" && can("pair");
  return html`${waits &&
    html`<${Button}
      kind=${large ? "first" : "small"}
      icon=${large ? "link" : ""}
      word=${t("connect.do")}
      title=${t("connect.of", { name: row.name })}
      aria-label=${t("connect.of", { name: row.name })}
      act=${() => {
        connect(row.name);
      }}
    />`}
    <${Menu}
      word=${t("actions.of", { name: row.name })}
      kind=${"square" + (large ? "" : " bare small")}
      items=${actionsOf(row, large)}
    />`;
}

// tidy removes redundant separators.
const tidy = (items) => items.filter((item, i) => item || (i > 0 && i < items.length - 1 && items[i - 1]));

async function restart(row) {
  confirm({
    title: t("restart.title", { name: row.name }),
    children: t("restart.text"),
    word: t("restart.do"),
    harm: false,
    act: async () => {
      await change(row.name, "POST", "/restart");
      toast(t("restart.done", { name: row.name }));
    },
  });
}

function logout(row) {
  confirm({
    title: t("logout.title", { name: row.name }),
    children: t("logout.text"),
    word: t("logout.do"),
    act: async () => {
      await change(row.name, "DELETE", "/logout");
      toast(t("logout.done", { name: row.name }));
    },
  });
}

// reset is the last resort if labels and chat settings cannot be verified.
function reset(row) {
  confirm({
    title: t("reset.title", { name: row.name }),
    children: t("reset.text"),
    word: t("reset.do"),
    typed: row.name,
    act: async () => {
      await call("POST", instancePath(row.name) + "/app-state/reset", undefined, { patience: 60000 });
      toast(t("reset.done", { name: row.name }));
    },
  });
}

function remove(row) {
  confirm({
    title: t("delete.title", { name: row.name }),
    children: t("delete.text"),
    word: t("delete.do"),
    typed: row.name,
    act: async () => {
      await call("DELETE", instancePath(row.name) + "?force=true", undefined, { patience: 60000 });
      drop(row.name);
      if (place.value.parts[1] === row.name) go(["instances"]);
      toast(t("delete.done", { name: row.name }));
    },
  });
}

// move exports the account to a file for another Postern; it never connects here again.
function move(row) {
  const asked = { messages: true };
  confirm({
    title: t("move.title", { name: row.name }),
    children: t("move.text"),
    extra: html`<${Along} asked=${asked} />`,
    word: t("move.do"),
    typed: row.name,
    act: async () => {
      const { name } = await save("POST", instancePath(row.name) + "/export", asked);
      toast(t("move.done", { name }), "save");
    },
  });
}

function Along({ asked }) {
  const [messages, setMessages] = useState(asked.messages);
  return html`<div class="form">
    <${Check}
      label=${t("move.messages")}
      value=${messages}
      on=${(is) => setMessages((asked.messages = is))}
    /><${Readers}
      on=${(recipients) => {
        asked.recipients = recipients;
      }}
    />
  </div>`;
}

function takeBack(row) {
  confirm({
    title: t("undo.title", { name: row.name }),
    children: t("undo.text"),
    word: t("undo.do"),
    typed: row.name,
    act: async () => {
      await call("DELETE", instancePath(row.name) + "/export", undefined, { patience: 60000 });
      toast(t("undo.done", { name: row.name }));
    },
  });
}

// takeIn imports an account that another Postern exported.
export function takeIn() {
  open(() => html`<${TakeIn} />`);
}

function TakeIn() {
  const [file, setFile] = useState(null);
  const [name, setName] = useState("");
  const [error, setError] = useState(null);
  const picker = useRef(null);
  const take = async () => {
    setError(null);
    const form = new FormData();
    if (name.trim()) form.append("name", name.trim());
    form.append("attachment", file);
    try {
      const made = await call("POST", "/admin/import", form, { patience: 3600000 });
      loadFleet().catch(() => {});
      close();
      toast(t("import.done", { name: made.instanceName }));
      if (made.tokenReplaced) setTimeout(() => newToken({ name: made.instanceName }));
    } catch (reason) {
      setError(reason);
    }
  };
  return html`<${Dialog}
    title=${t("import.title")}
    footer=${html`<${Cancel} /><${Button} kind="first" word=${t("import.do")} disabled=${!file} act=${take} />`}
  >
    <p>${t("import.text")}</p>
    <div class="form">
      <div class="buttons">
        <${Button}
          icon="clip"
          word=${t("import.file")}
          act=${() => {
            picker.current.click();
          }}
          autofocus
        /><input type="file" hidden ref=${picker} onChange=${({ target }) => setFile(target.files[0])} />${file &&
        html`<span class="one-line">${file.name}</span>`}
      </div>
      <${Text}
        label=${t("create.name")}
        help=${t("import.nameHelp")}
        value=${name}
        on=${setName}
        maxlength="255"
        autocapitalize="none"
      />
    </div>
    <${Trouble} error=${error}
  /><//>`;
}

function newToken(row) {
  confirm({
    title: t("token.title", { name: row.name }),
    children: t("token.text"),
    word: t("token.do"),
    harm: false,
    act: async () => {
      const { token } = await call("PUT", instancePath(row.name) + "/token");
      setTimeout(() => showToken(row.name, token, t("token.made", { name: row.name })));
    },
  });
}

// showToken shows a token to copy while the dialog is open.
function showToken(name, token, title) {
  open(
    () =>
      html`<${Dialog}
        title=${title}
        footer=${html`<${Button}
          kind="first"
          word=${t("done")}
          act=${() => {
            close();
          }}
        />`}
      >
        <p>${t("token.use")}</p>
        <${Secret} label=${t("token.label")} value=${token}
      /><//>`,
  );
}

// invite creates a portal link with which the owner of the phone links it remotely.
function invite(name) {
  open(() => html`<${Invite} name=${name} />`);
}

const lives = [
  ["3600", "invite.hour"],
  ["14400", "invite.hours"],
  ["86400", "invite.day"],
];

function Invite({ name }) {
  const [life, setLife] = useState("3600");
  const [made, setMade] = useState(null);
  const [error, setError] = useState(null);
  const make = async () => {
    setError(null);
    try {
      setMade(await call("POST", instancePath(name) + "/portal-link", { expiresIn: Number(life) }));
    } catch (reason) {
      setError(reason);
    }
  };
  const buttons = made
    ? html`<${Button}
        kind="first"
        word=${t("done")}
        act=${() => {
          close();
        }}
      />`
    : html`<${Cancel} /><${Button} kind="first" word=${t("invite.make")} act=${make} />`;
  return html`<${Dialog} title=${t("invite.title", { name })} footer=${buttons}
    ><p>${t("invite.text")}</p>
    ${made
      ? html`<${Secret} label=${t("invite.link")} value=${made.url} />
          <p class="quiet">${t("invite.until", { time: moment(made.expiresAt) })}</p>`
      : html`<${Select}
          label=${t("invite.life")}
          value=${life}
          on=${setLife}
          options=${lives.map(([seconds, key]) => [seconds, t(key)])}
        />`}
    <${Trouble} error=${error}
  /><//>`;
}

// Secret shows a long text in one line with a copy button.
export function Secret({ label, value }) {
  return html`<${Field} label=${label}
    >${(ties) =>
      html`<div class="with-button">
        <input
          class="input code"
          readonly
          value=${value}
          onFocus=${(event) => event.target.select()}
          ...${ties}
        /><${Copy} text=${value} kind="" />
      </div>`}<//
  >`;
}

// objectOf parses a typed JSON object; undefined for an empty text.
function objectOf(text) {
  if (!text.trim()) return undefined;
  try {
    const value = JSON.parse(text);
    if (value && typeof value === "object" && !Array.isArray(value)) return value;
  } catch {
    // reported below
  }
  throw new Error(t("create.attributesWrong"));
}

export function create() {
  open(() => html`<${Create} />`);
}

function Create() {
  const [[name, description, attributes], setForm, done] = useKept("/instance", ["", "", ""]);
  const type = (part) => setForm(Object.assign([name, description, attributes], part));
  const setName = (text) => type({ 0: text }),
    setDescription = (text) => type({ 1: text }),
    setAttributes = (text) => type({ 2: text });
  const [scan, setScan] = useState(true);
  const [error, setError] = useState(null);
  const make = async () => {
    setError(null);
    try {
      const externalAttributes = objectOf(attributes);
      const made = await call("POST", "/instance", {
        ...(externalAttributes && { externalAttributes }),
        ...(name.trim() && { instanceName: name.trim() }),
        ...(description.trim() && { description: description.trim() }),
      });
      const { Auth: _, ...row } = made; // do not keep the token
      put({ connectionStatus: "offline", status: "OFFLINE", ownerJid: null, Webhook: null, ...row });
      loadFleet().catch(() => {});
      done();
      close();
      toast(t("create.done", { name: made.name }));
      if (scan && can("pair")) setTimeout(() => connect(made.name));
    } catch (reason) {
      setError(reason);
    }
  };
  const wrong = error && ["INVALID_INSTANCE", "INSTANCE_EXISTS"].includes(error.code) ? troubleOf(error) : "";
  const submit = (event) => {
    event.preventDefault();
    event.target.closest("dialog").querySelector("footer .first").click();
  };
  return html`<${Dialog}
    title=${t("create.title")}
    footer=${html`<${Cancel} /><${Button} kind="first" word=${t("create.do")} act=${make} />`}
    ><form class="form" onSubmit=${submit} novalidate>
      <${Text}
        label=${t("create.name")}
        help=${t("create.nameHelp")}
        wrong=${wrong}
        value=${name}
        on=${setName}
        maxlength="255"
        placeholder="shop"
        autocapitalize="none"
        autofocus
      /><${Text} label=${t("create.description")} value=${description} on=${setDescription} maxlength="255" />
      <details class="further">
        <summary>${t("create.more")}</summary>
        <${Field} label=${t("create.attributes")} help=${t("create.attributesHelp")}
          >${(ties) =>
            html`<textarea
              class="input code"
              rows="3"
              value=${attributes}
              onInput=${(event) => setAttributes(event.target.value)}
              spellcheck=${false}
              placeholder='{"branch": 7}'
              ...${ties}
            ></textarea>`}<//
        >
      </details>
      ${can("pair") && html`<${Check} label=${t("create.scan")} value=${scan} on=${setScan} />`}<button hidden></button>
    </form>
    ${error && !wrong && html`<${Trouble} error=${error} />`}<//
  >`;
}
