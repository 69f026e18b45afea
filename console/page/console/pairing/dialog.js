// The dialog that links an instance to a phone.
import { useEffect, useRef, useState } from "preact/hooks";
import { call, get, instancePath, socketAt } from "../data/api.js";
import { html } from "../html.js";
import { Dialog, close, open, toast } from "../ui/float.js";
import { Button } from "../ui/parts.js";
import { number, t } from "../words.js";
import { Flow } from "./flow.js";
import { Steps } from "./steps.js";

export function connect(name) {
  open(() => html`<${Pairing} name=${name} key=${name} />`);
}

// pairAll links one instance after another.
export function pairAll(names, at = 0) {
  const [name] = names.slice(at);
  const next = () => {
    if (at + 1 < names.length) return pairAll(names, at + 1);
    close(true);
  };
  open(
    () =>
      html`<${Pairing}
        name=${name}
        key=${name}
        place=${t("pair.place", { n: number(at + 1), of: number(names.length) })}
        next=${next}
      />`,
  );
}

// callsOf returns the calls for an instance.
export function callsOf(name) {
  const path = instancePath(name) + "/connect";
  return {
    connect: () => get(path, { patience: 60000 }),
    status: () => get(instancePath(name) + "/connection/status", { patience: 10000 }),
    code: (phoneNumber) => call("POST", path + "/code", { phoneNumber }, { patience: 60000 }),
    script: () => get(path + "/passkey/script", { as: "text" }),
    assertion: (answer) => call("POST", path + "/passkey/assertion", answer, { patience: 60000 }),
    confirm: () => call("POST", path + "/passkey/confirm", undefined, { patience: 60000 }),
    logout: () => call("DELETE", instancePath(name) + "/logout"),
    watch: (hear, opened) => watch(name, hear, opened),
  };
}

// watch receives codes and steps live. It waits briefly for the connection so as not to miss
// the first code, and continues without one.
function watch(name, hear, opened) {
  const socket = new WebSocket(
    socketAt("/ws/instance/events?event=qrcode.updated,connection.update&instance=" + encodeURIComponent(name)),
  );
  socket.addEventListener("message", (event) => hear(JSON.parse(event.data)));
  socket.addEventListener("close", () => opened(false));
  const stop = () => socket.close();
  return new Promise((done) => {
    const timer = setTimeout(() => done(stop), 1500);
    const settle = (is) => () => {
      clearTimeout(timer);
      opened(is);
      done(stop);
    };
    socket.addEventListener("open", settle(true));
    socket.addEventListener("error", settle(false));
  });
}

function Pairing({ name, place, next }) {
  /** @type {any} */
  const [view, setView] = useState({ step: "starting" });
  const [turn, setTurn] = useState(0);
  const flow = useRef(null);
  useEffect(() => {
    const mine = (flow.current = new Flow(callsOf(name), setView));
    mine.begin();
    return () => mine.end();
  }, [name, turn]);
  useEffect(() => {
    if (view.step !== "done") return;
    if (next) next();
    else close(true);
    toast(t("pair.done", { name }));
  }, [view.step]);
  const again = () => setTurn((n) => n + 1);
  return html`<${Dialog}
    title=${t("pair.title", { name })}
    wide
    footer=${next &&
    html`<span class="quiet figures">${place}</span
      ><${Button}
        word=${t("pair.skip")}
        act=${() => {
          next();
        }}
      />`}
    ><${Steps} view=${view} flow=${flow.current} again=${again} name=${name}
  /><//>`;
}
