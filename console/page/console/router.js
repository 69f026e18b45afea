// Where in the console one is: the part of the address behind the #, so that every
// place has a link, and the browser's own back and forward work.
import { cell } from "./data/cell.js";

export const place = cell(read());

function read() {
  const [path, search] = location.hash.replace(/^#\/?/, "").split("?");
  return { parts: path.split("/").filter(Boolean).map(decode), query: new URLSearchParams(search || "") };
}

function decode(part) {
  try {
    return decodeURIComponent(part);
  } catch { // typed by hand
    return part;
  }
}

window.addEventListener("hashchange", () => place.set(read()));

// to is the link to a place: its parts, and what of it is chosen.
export function to(parts, query) {
  const chosen = new URLSearchParams(Object.entries(query || {}).filter(([, value]) => value)).toString();
  return "#/" + parts.map(encodeURIComponent).join("/") + (chosen && "?" + chosen);
}

export function go(parts, query) {
  location.hash = to(parts, query);
}

// choose changes what of a place is chosen without a step to go back over.
export function choose(query) {
  history.replaceState(null, "", to(place.value.parts, { ...Object.fromEntries(place.value.query), ...query }));
  place.set(read());
}
