// All instances visible to the signed-in user, kept up to date.
import { call, get, instancePath } from "./api.js";
import { cell } from "./cell.js";
import { onLive, onReload } from "./live.js";
import { can, session } from "./session.js";
import { seen } from "./states.js";

// fleet.rows is ordered by id; at is the time of loading, 0 before; error is the loading
// error.
export const fleet = cell({ rows: [], at: 0, error: null });

const byName = new Map();
let due = 0;

function publish() {
  due = 0;
  fleet.set({ ...fleet.value, rows: [...byName.values()].map(seen).sort((a, b) => a.id - b.id) });
}

// A burst of changes is drawn once.
function soon() {
  if (!due) due = setTimeout(publish, 50);
}

let loading = null,
  meanwhile = null; // messages that arrive during loading, which are newer

export function loadFleet() {
  if (loading) return loading;
  meanwhile = new Map();
  loading = get("/instance", { patience: 60000 })
    .then(
      (rows) => {
        byName.clear();
        for (const { Auth: _, ...row } of rows) byName.set(row.name, row); // do not keep the token
        for (const [name, row] of meanwhile) {
          if (row) byName.set(name, { ...byName.get(name), ...row });
          else byName.delete(name);
        }
        fleet.set({ ...fleet.value, at: Date.now(), error: null });
        publish();
      },
      (error) => {
        fleet.set({ ...fleet.value, error });
        throw error;
      },
    )
    .finally(() => {
      loading = meanwhile = null;
    });
  return loading;
}

// put merges an instance from an answer or a message.
export function put(row) {
  meanwhile?.set(row.name, row);
  byName.set(row.name, { ...byName.get(row.name), ...row });
  soon();
}

export function drop(name) {
  meanwhile?.set(name, null);
  byName.delete(name);
  soon();
}

const heard = new Map(); // when the last message of an instance came

// change calls for another state of an instance, and shows the answer unless a message came meanwhile, which is newer.
export async function change(name, method, path) {
  const began = Date.now();
  const { connectionStatus } = await call(method, instancePath(name) + path, undefined, { patience: 60000 });
  if (!(heard.get(name) >= began)) put({ name, connectionStatus });
}

onLive("instance", ({ instance }) => {
  heard.set(instance.name, Date.now());
  put(instance);
});
onLive("instanceDeleted", ({ name }) => drop(name));
onReload(() => session.value.state === "in" && can("read") && loadFleet());
session.watch(({ state }) => {
  if (state === "in" || state === "lost") return;
  byName.clear();
  fleet.set({ rows: [], at: 0, error: null });
});
