// What lists of the keeping pages share: rows that are read a page at a time, a moment
// that is chosen, a colour with its word, and a file that is saved.
import { useEffect, useRef, useState } from "preact/hooks";
import { NoAnswer, call, get, query } from "../data/api.js";
import { useLoaded } from "../data/loaded.js";
import { html } from "../html.js";
import { t } from "../words.js";
import { Icon } from "./icon.js";
import { Button, Field, Trouble } from "./parts.js";

// useRows is a list of the interface, the first page of it and as many more as were
// asked for. null loads nothing.
export function useRows(path, asked = {}, limit = 100) {
  const own = path && path + query({ ...asked, limit });
  const loaded = useLoaded(own);
  const more = async () => {
    const next = await get(path + query({ ...asked, limit, nextCursor: loaded.value.nextCursor }));
    loaded.set({ ...next, records: [...loaded.value.records, ...next.records], grown: true });
  };
  return { ...loaded, path: own, more: loaded.value?.nextCursor && more };
}

// More is the way to the next rows, below those that are there.
export function More({ rows }) {
  const [error, setError] = useState(null);
  const go = () => { setError(null); return rows.more().catch(setError); };
  return html`<${Trouble} error=${error}/>${rows.more && html`<div class="buttons middle"><${Button} word=${t("more")} act=${go}/></div>`}`;
}

export const Mark = ({ tone, word, pill }) => html`<span class=${"state " + tone + (pill ? " pill" : "")}><${Icon} name=${tone}/><span>${word}</span></span>`;

// When chooses a moment; value and what on gets are RFC 3339, "" for none.
export function When({ label, help, value, on }) {
  const local = value && new Date(Date.parse(value) - new Date(value).getTimezoneOffset() * 60000).toISOString().slice(0, 16);
  return html`<${Field} label=${label} help=${help}>${(ties) => html`<input type="datetime-local" class="input" value=${local} onChange=${({ target }) => on(target.value && new Date(target.value).toISOString())} ...${ties}/>`}<//>`;
}

// useSoon is value once it has been the same for a moment, so that typing asks once.
export function useSoon(value, ms = 300) {
  const [late, setLate] = useState(value);
  const key = JSON.stringify(value), newest = useRef(value);
  newest.current = value;
  useEffect(() => {
    const timer = setTimeout(() => setLate(newest.current), ms);
    return () => clearTimeout(timer);
  }, [key]);
  return late;
}

// Readers are those for whom a file is encrypted; on gets their keys.
export function Readers({ on }) {
  return html`<${Field} label=${t("backups.people")} help=${t("backups.peopleHelp")}>${(ties) => html`<textarea class="input code" rows="2" placeholder="age1…" onInput=${({ target }) => on(target.value.split(/[\s,]+/).filter(Boolean))} spellcheck=${false} ...${ties}></textarea>`}<//>`;
}

// save asks for a file and hands it to the browser under the name that the server gives it.
export async function save(method, path, body) {
  const answer = await call(method, path, body, { as: "response", patience: 3600000 });
  const blob = await answer.blob().catch(() => { throw new NoAnswer(false); });
  const [, name] = /filename="([^"/\\]+)"/.exec(answer.headers.get("Content-Disposition")) || [];
  const link = Object.assign(document.createElement("a"), { href: URL.createObjectURL(blob), download: name || "postern" });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60000);
  return { name: link.download, size: blob.size };
}
