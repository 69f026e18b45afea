// Texts, numbers and times of the page in the reader's language.
import { cell, useCell } from "./data/cell.js";
import texts, { keys } from "./words/en.js";

export const languages = { en: "English", pt: "Português", es: "Español" };

// A language has one file per part of the console; they are served as one module: a list in the
// order of the keys, which English has too. A key that begins with a dot begins like the one
// before it. The first entry is a checksum of the keys. After an upgrade a tab may load a list
// with other keys; it then shows English until it is reloaded.
let stem = "";
const english = Object.fromEntries(
  keys.split(" ").map((end, i) => {
    const key = end[0] === "." ? stem + end : end;
    stem = key.slice(0, Math.max(0, key.lastIndexOf(".")));
    return [key, texts[i]];
  }),
);
const loaders = { pt: () => import("./words/pt.js"), es: () => import("./words/es.js") };

export const language = cell("en");
let table = english;

// useWords redraws the component when the language changes.
export const useWords = () => useCell(language);

// preferred returns the initial language: the stored choice, or the first of the browser's
// languages that exists.
export function preferred() {
  const wanted = [stored("language"), ...navigator.languages]
    .filter(Boolean)
    .map((one) => one.slice(0, 2).toLowerCase());
  return wanted.find((one) => languages[one]) || "en";
}

let turn = 0; // number of the latest request for a language

export async function speak(code) {
  const mine = ++turn;
  const list = loaders[code] && (await loaders[code]()).default;
  if (mine !== turn) return;
  table =
    list?.[0] === english[""] ? Object.fromEntries(Object.keys(english).map((key, i) => [key, list[i]])) : english;
  document.documentElement.lang = code;
  language.set(code);
}

// Only preferences are stored and what was shown (data/seen.js), never a key or data of the server.
export function stored(name) {
  try {
    return localStorage.getItem("postern." + name) || "";
  } catch {
    // storage is disabled
    return "";
  }
}

export function store(name, value) {
  try {
    if (value) localStorage.setItem("postern." + name, value);
    else localStorage.removeItem("postern." + name);
  } catch {
    // as above
  }
}

const text = (key) => table[key] ?? english[key] ?? key;

// t returns a text with its {names} filled in.
export function t(key, values) {
  return values ? text(key).replace(/\{(\w+)\}/g, (whole, name) => values[name] ?? whole) : text(key);
}

// rich is like t, with elements as values.
export const rich = (key, values) =>
  text(key)
    .split(/(\{\w+\})/)
    .map((part) => (part.startsWith("{") ? (values[part.slice(1, -1)] ?? part) : part));

// has reports whether a text exists.
export const has = (key) => key in english;

// many returns the text for a number: key.one or key.other.
export function many(key, n, values) {
  const form = new Intl.PluralRules(language.value).select(n);
  return t(key + "." + (form === "one" ? "one" : "other"), { n: number(n), ...values });
}

const formats = new Map();
function format(kind, options) {
  const name = language.value + kind.name + JSON.stringify(options);
  if (!formats.has(name)) formats.set(name, new kind(language.value, options));
  return formats.get(name);
}

// listed joins names: a, b and c.
export const listed = (names) => format(Intl.ListFormat, {}).format(names);

export const number = (n, digits = 0) => format(Intl.NumberFormat, { maximumFractionDigits: digits }).format(n);

export function bytes(n) {
  const units = ["B", "KB", "MB", "GB", "TB"];
  let at = 0;
  for (; n >= 1000 && at < units.length - 1; at++) n /= 1000;
  return number(n, n < 10 && at > 0 ? 1 : 0) + " " + units[at];
}

// span formats a duration in seconds in its largest one or two units.
export function span(seconds) {
  const unit = (n, name) => format(Intl.NumberFormat, { style: "unit", unit: name, unitDisplay: "narrow" }).format(n);
  const s = Math.max(0, Math.round(seconds));
  if (s < 60) return unit(s, "second");
  if (s < 3600) return unit(Math.floor(s / 60), "minute");
  if (s < 86400)
    return (
      unit(Math.floor(s / 3600), "hour") + (s % 3600 >= 60 ? " " + unit(Math.floor((s % 3600) / 60), "minute") : "")
    );
  return (
    unit(Math.floor(s / 86400), "day") + (s % 86400 >= 3600 ? " " + unit(Math.floor((s % 86400) / 3600), "hour") : "")
  );
}

// seconds formats milliseconds, with a tenth below ten seconds.
export const seconds = (ms) =>
  ms % 1000 && ms < 10000
    ? format(Intl.NumberFormat, {
        style: "unit",
        unit: "second",
        unitDisplay: "narrow",
        maximumSignificantDigits: 2,
      }).format(ms / 1000)
    : span(ms / 1000);

// ago formats the time since a moment.
export function ago(when, now = Date.now()) {
  const s = Math.round((now - +new Date(when)) / 1000);
  const relative = format(Intl.RelativeTimeFormat, { numeric: "auto", style: "short" });
  if (Math.abs(s) < 45) return s < 0 ? relative.format(-s, "second") : t("time.now");
  for (const [unit, size] of Object.entries({ day: 86400, hour: 3600, minute: 60 })) {
    if (Math.abs(s) >= size || unit === "minute") return relative.format(-Math.trunc(s / size), unit);
  }
}

export const clock = (when, seconds = true) =>
  format(Intl.DateTimeFormat, {
    hour: "2-digit",
    minute: "2-digit",
    hourCycle: "h23",
    ...(seconds ? { second: "2-digit" } : {}),
  }).format(new Date(when));
export const dayOf = (when) => format(Intl.DateTimeFormat, { day: "numeric", month: "short" }).format(new Date(when));
export const moment = (when) =>
  format(Intl.DateTimeFormat, { dateStyle: "medium", timeStyle: "short", hourCycle: "h23" }).format(new Date(when));
// fold removes case and accents for searching.
export const fold = (text) =>
  String(text ?? "")
    .normalize("NFD")
    .replace(/\p{M}/gu, "")
    .toLowerCase();

export const compare = () => format(Intl.Collator, { numeric: true }).compare;
