// The sandbox: simulated phones and their actions.
import { useEffect, useState } from "preact/hooks";
import { call, get, instancePath } from "../data/api.js";
import { useCell } from "../data/cell.js";
import { fleet, loadFleet } from "../data/fleet.js";
import { useLoaded } from "../data/loaded.js";
import { loadSandbox, sandbox } from "../data/sandbox.js";
import { linked } from "../data/states.js";
import { html } from "../html.js";
import { to } from "../router.js";
import { Cancel, Dialog, Menu, close, confirm, open, toast, useTitle } from "../ui/float.js";
import { Button, Check, Empty, Loading, Notice, Select, State, Text, Trouble } from "../ui/parts.js";
import { Mark } from "../ui/sheet.js";
import { many, t } from "../words.js";

const act = (phone, does) =>
  call("POST", `/sandbox/phones/${encodeURIComponent(phone)}/act`, does, { patience: 60000 });
const digits = (jid) => /^(\d+)/.exec(jid || "")?.[1] || "";
const stranger = "4915155500003";

export function Sandbox() {
  useTitle(t("nav.sandbox"));
  const { phones, error } = useCell(sandbox);
  const rows = useCell(fleet, ({ rows }) => rows);
  const [failed, setFailed] = useState(null);
  useEffect(() => {
    loadSandbox();
    if (!fleet.value.at) loadFleet().catch(() => {});
  }, []);
  const ofPhone = (phone) => rows.find((row) => digits(row.ownerJid) === phone.phone && phone.devices.length > 0);
  const accounts = (phones || []).map((phone) => [phone, ofPhone(phone)]).filter(([, row]) => row);
  const does = async (word, run) => {
    setFailed(null);
    try {
      await run();
      toast(word);
      await loadSandbox();
    } catch (reason) {
      setFailed(reason);
    }
  };
  return html`<div class="page-head">
      <div>
        <h1 tabindex="-1">${t("nav.sandbox")}</h1>
        <p class="lead">${t("sandbox.lead")}</p>
      </div>
      <div class="buttons">
        <${Button}
          icon="plus"
          word=${t("sandbox.new")}
          act=${() => {
            open(() => html`<${Add} />`);
          }}
        />
      </div>
    </div>
    <div class="stack">
      <${Trouble} error=${error || failed} again=${error && loadSandbox} />${!phones
        ? !error && html`<${Loading} />`
        : html`${accounts.length > 0
              ? html`<${Write} accounts=${accounts} phones=${phones} />`
              : html`<div class="card">
                  <${Empty}
                    icon="sandbox"
                    title=${t("sandbox.none")}
                    buttons=${html`<a class="button first" href=${to(["instances"])}>${t("nav.instances")}</a>`}
                    >${t("sandbox.noneText")}<//
                  >
                </div>`}
            <section aria-label=${t("sandbox.phones")}>
              <ul class="phones">
                ${phones.map(
                  (phone) =>
                    html`<${Phone}
                      key=${phone.phone}
                      phone=${phone}
                      row=${ofPhone(phone)}
                      accounts=${accounts}
                      does=${does}
                    />`,
                )}
              </ul>
            </section>
            <${Any} does=${does} />`}
    </div>`;
}

// Write sends a message to an instance.
function Write({ accounts, phones }) {
  const [whom, setWhom] = useState("");
  const [who, setWho] = useState(stranger);
  const [text, setText] = useState("");
  const [result, setResult] = useState(null);
  const [error, setError] = useState(null);
  const [phone, row] = accounts.find(([one]) => one.phone === whom) || accounts[0];
  const send = async () => {
    setError(null);
    setResult(null);
    try {
      await act(who.replace(/[^\d]/g, "") || stranger, {
        do: "text",
        to: phone.phone,
        text: text || t("sandbox.hello"),
      });
      setResult(row.name);
      setText("");
      loadSandbox();
    } catch (reason) {
      setError(reason);
    }
  };
  const submit = (event) => {
    event.preventDefault();
    event.target.querySelector(".first").click();
  };
  return html`<section class="card">
    <header>
      <h2>${t("sandbox.write")}</h2>
      <p>${t("sandbox.writeText")}</p>
    </header>
    <form class="form" onSubmit=${submit} novalidate>
      <div class="row">
        <${Text} label=${t("sandbox.who")} value=${who} on=${setWho} inputmode="tel" list="numbers" /><datalist
          id="numbers"
        >
          ${phones.map((one) => html`<option key=${one.phone} value=${one.phone}>${one.pushName}</option>`)}</datalist
        ><${Select}
          label=${t("sandbox.whom")}
          value=${phone.phone}
          on=${setWhom}
          options=${accounts.map(([one, its]) => [one.phone, its.name + " · +" + one.phone])}
        />
      </div>
      <div class="with-button end wide">
        <${Text}
          label=${t("sandbox.text")}
          placeholder=${t("sandbox.hello")}
          value=${text}
          on=${setText}
          maxlength="4096"
        /><${Button} kind="first" type="button" icon="deliveries" word=${t("try.do")} act=${send} />
      </div>
      <${Trouble} error=${error} />${result &&
      html`<${Notice} tone="good" live="status" title=${t("sandbox.sent", { name: result })}
        ><a href=${to(["instances", result, "events"])}>${t("tab.events")}</a>${" "}·${" "}<a
          href=${to(["deliveries"], { instance: result })}
          >${t("nav.deliveries")}</a
        ><//
      >`}
    </form>
  </section>`;
}

function Phone({ phone, row, accounts, does }) {
  const device = phone.devices[0];
  const other = accounts.find(([one]) => one !== phone)?.[0].phone;
  const name = phone.pushName || "+" + phone.phone;
  const step = (word, what) => () => does(name + ": " + word, () => act(phone.phone, what));
  const target = device ? phone.phone : other;
  const items = [
    device && {
      word: t("sandbox.quiet"),
      icon: "pause",
      act: step(t("sandbox.quiet"), { do: "keepalive-timeout", seconds: 90 }),
    },
    device && { word: t("sandbox.away"), icon: "clock", act: step(t("sandbox.away"), { do: "offline-preview" }) },
    !device && { word: t("sandbox.scan"), icon: "qr", act: () => open(() => html`<${Scan} phone=${phone} />`) },
    !device &&
      target && {
        word: t("sandbox.types"),
        icon: "chats",
        act: step(t("sandbox.types"), { do: "chat-presence", state: "composing", to: target }),
      },
    !device &&
      target && {
        word: t("sandbox.calls"),
        icon: "phone",
        act: step(t("sandbox.calls"), { do: "call-offer", to: target }),
      },
    device && null,
    device && {
      word: t("sandbox.ban"),
      icon: "held",
      harm: true,
      act: () => sure(t("sandbox.ban"), { do: "temp-ban" }),
    },
    device && {
      word: t("sandbox.remove"),
      icon: "unlink",
      harm: true,
      act: () => sure(t("sandbox.remove"), { do: "logout" }),
    },
  ].filter((one) => one || one === null);
  const sure = (word, what) =>
    confirm({
      title: word + "?",
      children: t("sandbox.sure", { name: row?.name || phone.pushName }),
      word,
      act: async () => {
        await act(phone.phone, what);
        toast(name + ": " + word);
        loadSandbox();
      },
    });
  const presence = (online) =>
    step(t(online ? "sandbox.comes" : "sandbox.goes"), { do: "presence", online, ...(target && { to: target }) });
  return html`<li class="card phone">
    <div class="between">
      <div>
        <h2 class="one-line" title=${phone.pushName}>${phone.pushName || "–"}</h2>
        <p class="quiet figures">+${phone.phone}</p>
      </div>
      <${Menu}
        word=${t("actions.of", { name: phone.pushName || phone.phone })}
        kind="square bare small"
        items=${items}
      />
    </div>
    <p class="phone-state">
      ${!device
        ? html`<${Mark} tone="off" word=${t("sandbox.person")} />`
        : html`<${Mark}
              tone=${device.online ? "good" : "busy"}
              word=${t(device.online ? "sandbox.line" : "sandbox.noLine")}
            />${" "}${row && html`<a href=${to(["instances", row.name])}>${row.name}</a>`}${device.queued > 0 &&
            html`${" "}<span class="quiet">${many("sandbox.queued", device.queued)}</span>`}`}
    </p>
    <div class="buttons">
      ${device
        ? html`<${Button}
            kind="small"
            icon="cut"
            word=${t("sandbox.drop")}
            act=${step(t("sandbox.dropped"), { do: "drop" })}
          />`
        : ""}
      ${(device || target) &&
      html`<${Button} kind="small" word=${t("sandbox.comes")} act=${presence(true)} /><${Button}
          kind="small"
          word=${t("sandbox.goes")}
          act=${presence(false)}
        />`}
    </div>
  </li>`;
}

function Add() {
  const [phone, setPhone] = useState("");
  const [pushName, setName] = useState("");
  const [passkey, setPasskey] = useState(false);
  const [error, setError] = useState(null);
  const make = async () => {
    setError(null);
    try {
      await call("POST", "/sandbox/phones", {
        ...(phone && { phone: phone.replace(/[^\d]/g, "") }),
        ...(pushName && { pushName }),
        passkey,
      });
      close();
      loadSandbox();
    } catch (reason) {
      setError(reason);
    }
  };
  const submit = (event) => {
    event.preventDefault();
    event.target.closest("dialog").querySelector("footer .first").click();
  };
  return html`<${Dialog}
    title=${t("sandbox.new")}
    footer=${html`<${Cancel} /><${Button} kind="first" word=${t("sandbox.new")} act=${make} />`}
    ><form class="form" onSubmit=${submit} novalidate>
      <${Text} label=${t("column.name")} value=${pushName} on=${setName} maxlength="100" placeholder="Ada" /><${Text}
        label=${t("pair.number")}
        help=${t("sandbox.free")}
        value=${phone}
        on=${setPhone}
        inputmode="tel"
      /><${Check} label=${t("sandbox.passkey")} value=${passkey} on=${setPasskey} /><button hidden></button>
    </form>
    <${Trouble} error=${error}
  /><//>`;
}

// Scan lets a phone scan the code of an instance, if none does so automatically.
function Scan({ phone }) {
  const rows = useCell(fleet, ({ rows }) => rows).filter((row) => !linked(row.connectionStatus));
  const [name, setName] = useState("");
  const [error, setError] = useState(null);
  const mine = rows.find((row) => row.name === name) || rows[0];
  const scan = async () => {
    setError(null);
    try {
      const { code } = await get(instancePath(mine.name) + "/connect", { patience: 60000 });
      await call("POST", "/sandbox/scan", { phone: phone.phone, code }, { patience: 60000 });
      close();
      toast(t("pair.done", { name: mine.name }));
      loadSandbox();
    } catch (reason) {
      setError(reason);
    }
  };
  return html`<${Dialog}
    title=${t("sandbox.scan")}
    footer=${html`<${Cancel} /><${Button}
        kind="first"
        icon="qr"
        word=${t("sandbox.scan")}
        disabled=${!mine}
        act=${scan}
      />`}
  >
    ${mine
      ? html`<${Select}
            label=${t("delivery.instance")}
            value=${mine.name}
            on=${setName}
            options=${rows.map((row) => [row.name, row.name])}
          />
          <p><${State} of=${mine.connectionStatus} /></p>`
      : html`<p>${t("sandbox.nothing")}</p>`}<${Trouble} error=${error}
  /><//>`;
}

const words = new Set([
  "text",
  "name",
  "caption",
  "subject",
  "description",
  "id",
  "message",
  "image",
  "data",
  "content",
]);

// valueOf converts a field's text for the act: a number, true, or a list. Seven and more digits
// are a phone number and stay text.
function valueOf(name, text) {
  if (words.has(name) || /^\d{7,}$/.test(text)) return text;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

// Any offers every act that the sandbox knows, with its own help, and the network faults.
function Any({ does }) {
  const help = useLoaded("/sandbox/help");
  const [phone, setPhone] = useState("");
  const [what, setWhat] = useState("image");
  const [given, setGiven] = useState({});
  const [result, setResult] = useState(null);
  const [error, setError] = useState(null);
  const acts = help.value?.acts || [];
  const chosen = acts.find((one) => one.do === what);
  const run = async () => {
    setError(null);
    setResult(null);
    try {
      setResult(
        await act((phone || stranger).replace(/[^\d]/g, ""), {
          do: what,
          ...Object.fromEntries(
            Object.keys(chosen.fields)
              .filter((name) => given[name])
              .map((name) => [name, valueOf(name, given[name])]),
          ),
        }),
      );
      loadSandbox();
    } catch (reason) {
      setError(reason);
    }
  };
  if (!chosen) return html`<${Trouble} error=${help.error} again=${help.load} />`;
  return html`<details class="card any">
    <summary><h2>${t("sandbox.any")}</h2></summary>
    <div class="form">
      <div class="row">
        <${Text}
          label=${t("sandbox.who")}
          placeholder=${stranger}
          value=${phone}
          on=${setPhone}
          list="numbers"
        /><${Select}
          label=${t("sandbox.act")}
          help=${html`<span lang="en">${chosen.does}</span>`}
          value=${what}
          on=${setWhat}
          options=${acts.map((one) => [one.do, one.do])}
        />
      </div>
      <div class="flags-list">
        ${Object.entries(chosen.fields)
          .sort()
          .map(
            ([name, about]) =>
              html`<${Text}
                key=${what + name}
                label=${html`<span class="mono">${name}</span>`}
                help=${html`<span lang="en">${about}</span>`}
                kind="code"
                value=${given[name] || ""}
                on=${(text) => setGiven({ ...given, [name]: text })}
              />`,
          )}
      </div>
      <${Trouble} error=${error} />${result &&
      html`<pre class="code" role="status">${JSON.stringify(result, null, 2)}</pre>`}
      <div class="buttons">
        <${Button} word=${t("sandbox.run")} act=${run} /><${Button}
          kind="bare"
          word=${t("sandbox.heal")}
          act=${() => does(t("sandbox.healed"), () => call("POST", "/sandbox/faults", {}))}
        />
      </div>
    </div>
  </details>`;
}
