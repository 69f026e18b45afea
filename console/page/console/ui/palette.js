// The palette: opens pages and instances and starts actions by a few typed letters.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { NoAnswer } from "../data/api.js";
import { useCell } from "../data/cell.js";
import { fleet, loadFleet } from "../data/fleet.js";
import { can, session, signOut } from "../data/session.js";
import { groupFor, stateOf } from "../data/states.js";
import { html } from "../html.js";
import { go, place, to } from "../router.js";
import { allowed } from "../routes.js";
import { chooseTheme, themes } from "../theme.js";
import { fold, has, languages, many, speak, store, stored, t } from "../words.js";
import { Dialog, close, dialog, open, toast } from "./float.js";
import { Icon } from "./icon.js";
import { troubleOf } from "./parts.js";

const most = 50; // entries drawn
const mac = /Mac|iP/.test(navigator.platform);
export const opener = mac ? "⌘ K" : "Ctrl K";

export const openPalette = () => open(() => html`<${Palette} />`);

addEventListener("keydown", (event) => {
  if (
    event.key?.toLowerCase() !== "k" ||
    !event[mac ? "metaKey" : "ctrlKey"] ||
    event.altKey ||
    event.shiftKey ||
    session.value.state !== "in"
  )
    return;
  event.preventDefault();
  if (!dialog.value) openPalette();
});

const failed = () => toast(troubleOf(new NoAnswer()), "cut");

export const chooseLanguage = (code) => speak(code).then(() => store("language", code), failed);

export function signOutAs() {
  const { operator, key } = session.value,
    who = operator ? t("who.operator") : key?.name || key?.id;
  return t("signOut.as", { who });
}

// On demand, from the module of instances.
const actions = () => import("../pages/instance_actions.js");

// An entry is {kind, word, note, icon} with the page that it opens, as parts, or with act.
function commands() {
  const later = (name) => () => actions().then((module) => module[name](), failed),
    all = can("manage", "everywhere");
  return [
    all && { word: t("create.do"), icon: "plus", act: later("create") },
    all && can("operator") && { word: t("import.do"), icon: "clip", act: later("takeIn") },
    can("batch") && { word: t("batches.new"), icon: "plus", parts: ["batches", "new"] },
    ...themes.map((name) => ({
      word: t("theme") + ": " + t("theme." + name),
      icon: name,
      act: () => chooseTheme(name),
    })),
    ...Object.entries(languages).map(([code, name]) => ({
      word: t("language") + ": " + name,
      icon: "globe",
      act: () => chooseLanguage(code),
    })),
    {
      word: t("docs"),
      icon: "docs",
      act: () => {
        window.open("docs", "_blank", "noopener");
      },
    },
    { word: signOutAs(), icon: "leave", act: signOut },
  ]
    .filter(Boolean)
    .map((one) => ({ kind: t("column.actions"), ...one }));
}

const actsOf = (row, made) =>
  made(row, true)
    .filter(Boolean)
    .map((one) => ({ kind: t("column.actions"), note: row.name, ...one }));
const drawnState = (row) =>
  has("state." + stateOf(row.connectionStatus)) ? t("state." + stateOf(row.connectionStatus)) : row.connectionStatus;

// Saved views are addresses with their filters. Each user of a browser has their own.
const mostViews = 30;
const viewsOf = () => "views." + (session.value.key?.id || "operator");
function views() {
  try {
    const all = JSON.parse(stored(viewsOf()));
    return Array.isArray(all) ? all : [];
  } catch {
    return []; // there are none
  }
}

function saveView(name, view) {
  const others = views().filter((one) => one.name !== name);
  store(viewsOf(), JSON.stringify([...(view ? [{ name, ...view }] : []), ...others].slice(0, mostViews)));
  toast(t(view ? "views.saved" : "views.removed", { name }));
}

const viewEntries = (removable) =>
  views().flatMap(({ name, parts, query }) => [
    { kind: t("views.one"), word: name, note: t("nav." + parts[0]), icon: "check", parts, query },
    ...(removable
      ? [{ kind: t("views.one"), word: t("views.remove", { name }), icon: "close", act: () => saveView(name) }]
      : []),
  ]);

// entriesFor returns what fits all words of a text, first what begins with it. It has the actions
// of the instance of the page, and of the first ones that a word names. made: their actions.
function entriesFor(text, rows, made) {
  const wanted = fold(text).trim(),
    words = wanted.split(/\s+/).filter(Boolean);
  const names = (row, word) => fold(row.name + " " + row.description).includes(word);
  const [page, here] = place.value.parts;
  const near = rows
    .filter((row) =>
      words.length ? words.some((word) => names(row, word)) : page === "instances" && row.name === here,
    )
    .slice(0, 20);
  const acts = made ? near.flatMap((row) => actsOf(row, made)) : [];
  const all = [
    ...(words.length ? [] : acts),
    ...viewEntries(words.length > 0),
    ...allowed().map((route) => ({
      kind: t("nav.label"),
      word: t("nav." + route.at),
      icon: route.icon,
      parts: [route.at],
    })),
    ...commands(),
    ...rows
      .filter((row) => words.every((word) => names(row, word)))
      .map((row) => ({
        kind: t("nav.instances"),
        word: row.name,
        note: drawnState(row),
        more: row.description,
        icon: groupFor(row.connectionStatus),
        parts: ["instances", row.name],
      })),
    ...(words.length ? acts : []),
  ].filter((one) => words.every((word) => fold([one.word, one.note, one.more].join(" ")).includes(word)));
  const first = (one) => fold(one.word).startsWith(wanted);
  return wanted ? [...all.filter(first), ...all.filter((one) => !first(one)), ...saveEntry(text.trim())] : all;
}

// saveEntry offers to save the filters of this page under a name.
function saveEntry(name) {
  const { parts, query } = place.value,
    kept = Object.fromEntries([...query].filter(([key, value]) => value && key !== "show" && key !== "replay"));
  if (!Object.keys(kept).length || parts.length !== 1) return [];
  const act = () => saveView(name.slice(0, 60), { parts, query: kept });
  return [{ kind: t("views.one"), word: t("views.save", { name: name.slice(0, 60) }), icon: "plus", act }];
}

function run({ parts, query, act }) {
  const moves = parts && to(parts, query) !== location.hash;
  close(moves);
  if (moves) go(parts, query);
  act?.();
}

function Palette() {
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  const [made, setMade] = useState(null);
  const { rows } = useCell(fleet);
  const list = useRef(null);
  useEffect(() => {
    if (!can("read")) return;
    if (!fleet.value.at) loadFleet().catch(() => {});
    actions().then(
      (module) => setMade(() => module.actionsOf),
      () => {},
    ); // then without these
  }, []);
  const all = useMemo(() => entriesFor(text, rows, made), [text, rows, made]);
  const shown = all.slice(0, most),
    chosen = Math.min(at, shown.length - 1);
  useEffect(() => {
    list.current?.children[chosen]?.scrollIntoView({ block: "nearest" });
  }, [chosen, shown.length]);
  const keys = (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (event.isComposing || !shown.length || (!step && event.key !== "Enter")) return;
    event.preventDefault();
    if (step) setAt((chosen + step + shown.length) % shown.length);
    else run(shown[chosen]);
  };
  return html`<${Dialog} title=${t("palette.title")} footer=${html`<${Keys} />`}>
    <input
      class="input"
      role="combobox"
      aria-expanded=${String(shown.length > 0)}
      aria-controls="palette"
      aria-activedescendant=${shown.length ? "palette-" + chosen : undefined}
      aria-autocomplete="list"
      aria-label=${t("palette.label")}
      placeholder=${t("palette.label")}
      autocomplete="off"
      spellcheck=${false}
      value=${text}
      onInput=${(event) => {
        setText(event.target.value);
        setAt(0);
      }}
      onKeyDown=${keys}
    />
    <p class=${shown.length ? "unseen" : "quiet"} role="status">
      ${shown.length ? many("palette.found", all.length) : t("instances.none")}
    </p>
    ${shown.length > 0 &&
    html`<ul class="palette plain" id="palette" role="listbox" aria-label=${t("palette.title")} ref=${list}>
      ${shown.map(
        (one, i) =>
          html`<li
            key=${one.kind + one.word + one.note}
            id=${"palette-" + i}
            role="option"
            aria-selected=${String(i === chosen)}
            onMouseDown=${(event) => event.preventDefault()}
            onClick=${() => run(one)}
          >
            <${Icon} name=${one.icon} /><span class="one-line"
              ><bdi>${one.word}</bdi>${one.note && html` <bdi class="quiet">${one.note}</bdi>`}</span
            ><span class="quiet">${one.kind}</span>
          </li>`,
      )}
    </ul>`}<//
  >`;
}

// Keys lists the keys of the console besides those of the browser.
const Keys = () =>
  html`<dl class="shortcuts">
    ${[
      [opener, "palette.open"],
      ["↑ ↓", "palette.rows"],
      ["Shift", "palette.range"],
      ["Enter", "palette.enter"],
      ["Shift Enter", "palette.line"],
      ["Esc", "close"],
    ].map(
      ([key, word]) =>
        html`<div key=${key}>
          <dt><kbd>${key}</kbd></dt>
          <dd>${t(word)}</dd>
        </div>`,
    )}
  </dl>`;
