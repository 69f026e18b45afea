// What was typed and is not saved, by address. It outlives a reload of the tab, not the
// session of its writer.
import { cell } from "./cell.js";
import { session } from "./session.js";

const item = "postern.drafts";

function readDrafts() {
  try {
    return JSON.parse(sessionStorage.getItem(item)) || {};
  } catch {
    // storage is disabled
    return {};
  }
}

// drafts.value has who wrote the drafts, as "who", and each draft by its key, a path.
export const drafts = cell(readDrafts());

function write(all) {
  drafts.set(all);
  try {
    if (Object.keys(all).length) sessionStorage.setItem(item, JSON.stringify(all));
    else sessionStorage.removeItem(item);
  } catch {
    // as above
  }
}

// keep stores a draft; undefined removes it. It must not hold a secret.
export function keep(key, draft) {
  const { [key]: before, who: _, ...rest } = drafts.value;
  if (draft === before) return;
  if (draft !== undefined) rest[key] = draft;
  write(Object.keys(rest).length ? { ...rest, who: writer() } : {});
}

const writer = () => (session.value.operator ? "operator" : session.value.key?.id);

session.watch(({ state }) => {
  if (drafts.value.who && (state === "out" || (state === "in" && drafts.value.who !== writer()))) write({});
});
