// Shared parts of the operator lists: paged rows, a date picker, a coloured label and a
// download.
import { useEffect, useRef, useState } from "preact/hooks";
import { NoAnswer, call, get, query } from "../data/api.js";
import { useLoaded } from "../data/loaded.js";
import { can } from "../data/session.js";
import { html } from "../html.js";
import { to } from "../router.js";
import { t } from "../words.js";
import { Icon } from "./icon.js";
import { Button, Field, Trouble } from "./parts.js";

// useRows loads a list: its first page and further ones on request. null loads nothing.
export function useRows(path, asked = {}, limit = 100) {
  const own = path && path + query({ ...asked, limit });
  const loaded = useLoaded(own);
  const more = async () => {
    const next = await get(path + query({ ...asked, limit, nextCursor: loaded.value.nextCursor }));
    loaded.set({ ...next, records: [...loaded.value.records, ...next.records], grown: true });
  };
  return { ...loaded, path: own, more: loaded.value?.nextCursor && more };
}

// More is the button that loads the next rows.
export function More({ rows }) {
  const [error, setError] = useState(null);
  const go = () => {
    setError(null);
    return rows.more().catch(setError);
  };
  return html`<${Trouble} error=${error} />${rows.more &&
    html`<div class="buttons middle"><${Button} word=${t("more")} act=${go} /></div>`}`;
}

// Crumb leads back to the instance that an address names.
export const Crumb = ({ instance }) =>
  instance &&
  can("read") &&
  html`<a class="crumb" href=${to(["instances", instance])}><${Icon} name="left" />${instance}</a>`;

export const Mark = ({ tone, word, pill }) =>
  html`<span class=${"state " + tone + (pill ? " pill" : "")}><${Icon} name=${tone} /><span>${word}</span></span>`;

// When selects a time; value and the argument of on are RFC 3339, "" for none.
export function When({ label, help, value, on }) {
  const local =
    value && new Date(Date.parse(value) - new Date(value).getTimezoneOffset() * 60000).toISOString().slice(0, 16);
  return html`<${Field} label=${label} help=${help}
    >${(ties) =>
      html`<input
        type="datetime-local"
        class="input"
        value=${local}
        onChange=${({ target }) => on(target.value && new Date(target.value).toISOString())}
        ...${ties}
      />`}<//
  >`;
}

// useSoon debounces value, so that typing causes one request.
export function useSoon(value, ms = 300) {
  const [late, setLate] = useState(value);
  const key = JSON.stringify(value),
    newest = useRef(value);
  newest.current = value;
  useEffect(() => {
    const timer = setTimeout(() => setLate(newest.current), ms);
    return () => clearTimeout(timer);
  }, [key]);
  return late;
}

// Readers edits the recipients of an encrypted file; on gets their keys.
export function Readers({ on }) {
  return html`<${Field} label=${t("backups.people")} help=${t("backups.peopleHelp")}
    >${(ties) =>
      html`<textarea
        class="input code"
        rows="2"
        placeholder="age1…"
        onInput=${({ target }) => on(target.value.split(/[\s,]+/).filter(Boolean))}
        spellcheck=${false}
        ...${ties}
      ></textarea>`}<//
  >`;
}

// save downloads a file under the name from the server.
export async function save(method, path, body) {
  const answer = await call(method, path, body, { as: "response", patience: 3600000 });
  const blob = await answer.blob().catch(() => {
    throw new NoAnswer(false);
  });
  const [, name] = /filename="([^"/\\]+)"/.exec(answer.headers.get("Content-Disposition")) || [];
  const link = Object.assign(document.createElement("a"), {
    href: URL.createObjectURL(blob),
    download: name || "postern",
  });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60000);
  return { name: link.download, size: blob.size };
}
