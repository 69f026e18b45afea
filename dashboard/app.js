"use strict";

// The key is kept for this tab only. Everything that comes from the server is
// put into the page as text.
const store = window.sessionStorage;
const byId = (id) => document.getElementById(id);
const pause = 2000; // milliseconds between two looks
const patience = 10000; // milliseconds that a look may take
let looks = 0; // begun; only the newest may draw

// call asks the server for a path, relative to the page, which may be below one of a
// reverse proxy. The errors it throws say what to do.
async function call(method, path, credential, body, signal) {
  const headers = { ...credential };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  let response, text;
  try {
    response = await fetch("." + path, { method, headers, signal, body: body === undefined ? undefined : JSON.stringify(body) });
    text = await response.text();
  } catch {
    throw new Error("No answer from " + location.host + ". Is Postern running, and can this computer reach it?");
  }
  if (response.ok) {
    return (response.headers.get("Content-Type") || "").includes("json") ? JSON.parse(text) : text;
  }
  const error = new Error(reason(response, text, credential));
  error.status = response.status;
  error.code = code(text);
  error.locked = response.status === 401 && "apikey" in credential;
  throw error;
}

function reason(response, text, credential) {
  if (response.status === 401) {
    return "apikey" in credential ?
      "The server does not take this API key. The first start printed the right one; it is kept beside the data file or in the configuration." :
      "The token of this instance expired or was replaced. Try again, or press New token.";
  }
  try {
    const told = JSON.parse(text);
    return (told.messages || told.reasons).join("; ");
  } catch { // not our error body
    return response.status + " " + response.statusText;
  }
}

function code(text) {
  try {
    return JSON.parse(text).code;
  } catch { // not our error body
    return undefined;
  }
}

const look = (path, credential) => call("GET", path, credential, undefined, AbortSignal.timeout(patience));

// A header carries bytes: the key's are those of its UTF-8 text, as elsewhere.
const operator = () => ({ apikey: String.fromCharCode(...new TextEncoder().encode(store.getItem("key"))) });
const owner = (instance) => ({ Authorization: "Bearer " + instance.Auth.token });

function show(id, text) {
  byId(id).hidden = !text;
  byId(id).textContent = text;
}

// attempt does what the user asked for. What went wrong stays in view until
// the next attempt.
async function attempt(action) {
  show("error", "");
  try {
    await action();
  } catch (error) {
    fail(error);
  }
  await refresh();
}

function fail(error) {
  if (error.locked) leave();
  show("error", error.message);
}

const sleep = () => new Promise((done) => setTimeout(done, pause));

function element(tag, text, className) {
  const made = document.createElement(tag);
  if (text !== undefined) made.textContent = text;
  if (className) made.className = className;
  return made;
}

function button(text, action) {
  const made = element("button", text);
  made.type = "button";
  made.addEventListener("click", () => attempt(action));
  return made;
}

function row(instance) {
  const path = "/instance/" + encodeURIComponent(instance.name);
  const tr = element("tr");
  tr.instance = instance;
  const name = element("td", instance.name);
  if (instance.description) name.append(element("small", instance.description));
  const online = instance.status === "ONLINE";
  const actions = element("td");
  if (instance.Auth) {
    const token = owner(instance);
    if (online) {
      actions.append(button("Restart", () => call("POST", path + "/restart", token)));
      actions.append(button("Log out", () => confirm("Unlink " + instance.name + " from its phone?") && call("DELETE", path + "/logout", token)));
    } else {
      actions.append(button("Connect", () => connect(instance)));
    }
    actions.append(button("Delete", () => confirm("Delete " + instance.name + " and everything stored of it?") && call("DELETE", path + "?force=true", token)));
  }
  actions.append(button("New token", async () => {
    if (confirm("The old token of " + instance.name + " will be worth nothing.")) {
      prompt("The new token of " + instance.name, (await call("PUT", path + "/token", operator())).token);
    }
  }));
  const hook = instance.Webhook ? instance.Webhook.url + (instance.Webhook.enabled ? "" : " (off)") : "–";
  tr.append(name, element("td", instance.connectionStatus, online ? "good" : "bad"),
    element("td", instance.ownerJid || "–"), element("td", hook), actions);
  return tr;
}

// figures are the metrics that tell at a glance whether all is well.
const figures = {
  postern_webhook_queue_waiting: "Webhooks waiting",
  postern_outbox_pending: "Batch events to deliver",
  postern_outbox_oldest_age_seconds: "Oldest of them, seconds",
  postern_outbox_breaker_open: "Global webhook held to be down",
  postern_websocket_clients: "WebSockets",
  postern_store_file_bytes: "Data file, bytes",
  postern_store_disk_free_bytes: "Disk left, bytes",
  process_resident_memory_bytes: "Memory, bytes",
};

function drawFigures(text) {
  const values = new Map(text.split("\n").map((line) => line.split(" ")));
  byId("figures").replaceChildren();
  for (const name of Object.keys(figures).filter((name) => values.has(name))) {
    byId("figures").append(element("dt", figures[name]), element("dd", Number(values.get(name)).toLocaleString()));
  }
}

// drawInstances replaces only the rows that changed, and hands the focus on: a
// button must not vanish from under a finger or the keyboard.
function drawInstances(instances) {
  const body = byId("instances");
  const old = new Map([...body.rows].map((tr) => [tr.instance.id, tr]));
  const ids = new Set(instances.map((instance) => instance.id));
  for (const [id, tr] of old) {
    if (!ids.has(id)) tr.remove();
  }
  instances.forEach((instance, i) => {
    const before = old.get(instance.id);
    if (before && JSON.stringify(before.instance) === JSON.stringify(instance)) return;
    const made = row(instance);
    if (!before) return body.insertBefore(made, body.rows[i] || null);
    const pressed = before.contains(document.activeElement) && document.activeElement.textContent;
    before.replaceWith(made);
    if (pressed) ([...made.querySelectorAll("button")].find((b) => b.textContent === pressed) || made.querySelector("button")).focus();
  });
}

async function draw() {
  if (!store.getItem("key")) return;
  const turn = ++looks;
  const [instances, metrics] = await Promise.all([look("/instance", operator()), look("/metrics", operator())]);
  if (turn !== looks) return; // a newer look, or the key was forgotten
  drawInstances(instances);
  drawFigures(metrics);
  show("stale", "");
  enter(true);
}

function enter(known) {
  byId("enter").hidden = known;
  document.querySelector("main").hidden = !known;
  byId("leave").hidden = !known;
}

function leave() {
  store.removeItem("key");
  looks++;
  shut();
  byId("instances").replaceChildren();
  byId("figures").replaceChildren();
  show("stale", "");
  enter(false);
  byId("key").focus();
}

async function health() {
  const state = byId("health");
  try {
    const is = await look("/ready", {});
    state.textContent = "ready";
    state.className = "good";
    show("warnings", (is.warnings || []).join("; "));
  } catch (error) {
    show("warnings", "");
    state.textContent = error.status ? "not ready: " + error.message : "no answer";
    state.className = "bad";
  }
}

// refresh draws anew. When it cannot, it says that the page is old, and leaves
// what an attempt told.
async function refresh() {
  try {
    await draw();
  } catch (error) {
    if (error.locked) fail(error);
    else show("stale", "What is shown may be out of date. " + error.message);
  }
}

async function watch() {
  for (;;) {
    await Promise.all([health(), byId("scan").open || refresh()]);
    await sleep();
  }
}

byId("enter").addEventListener("submit", (event) => {
  event.preventDefault();
  store.setItem("key", byId("key").value.trim());
  byId("key").value = "";
  attempt(() => {});
});
byId("create").addEventListener("submit", (event) => {
  event.preventDefault();
  attempt(async () => {
    await call("POST", "/instance", operator(), { instanceName: byId("name").value.trim() });
    byId("name").value = "";
  });
});
byId("leave").addEventListener("click", () => { show("error", ""); leave(); });

watch();
