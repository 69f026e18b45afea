// The current route: the part of the address after the #, so that every page has a link and
// the browser's back and forward buttons work.
import { cell } from "./data/cell.js";

export const place = cell(read());

function read() {
  const [path, search] = location.hash.replace(/^#\/?/, "").split("?");
  return { parts: path.split("/").filter(Boolean).map(decode), query: new URLSearchParams(search || "") };
}

function decode(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    // an invalid escape
    return part;
  }
}

window.addEventListener("hashchange", () => place.set(read()));

// to returns the link to a route with its query.
export function to(parts, query) {
  const chosen = new URLSearchParams(Object.entries(query || {}).filter(([, value]) => value)).toString();
  return "#/" + parts.map(encodeURIComponent).join("/") + (chosen && "?" + chosen);
}

export function go(parts, query) {
  if (!history.state?.dialog) return void (location.hash = to(parts, query));
  history.replaceState(null, "", to(parts, query)); // in place of the entry of a dialog
  place.set(read());
}

// choose changes the query without a new history entry. In a dialog its entry is the changed place.
export function choose(query) {
  history.replaceState(null, "", to(place.value.parts, { ...Object.fromEntries(place.value.query), ...query }));
  place.set(read());
}
