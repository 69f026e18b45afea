"use strict";

// The key is kept for this tab only. Everything that comes from the server is
// put into the page as text.
const store = window.sessionStorage;
const byId = (id) => document.getElementById(id);
const pause = 2000; // milliseconds between two looks
let watched = null; // the instance whose code is shown

async function call(method, path, credential, body) {
  const headers = { ...credential };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  const response = await fetch(path, { method, headers, body: body === undefined ? undefined : JSON.stringify(body) });
  const text = await response.text();
  if (response.ok) {
    return (response.headers.get("Content-Type") || "").includes("json") ? JSON.parse(text) : text;
  }
  let message = response.status + " " + response.statusText;
  try { message = JSON.parse(text).messages.join("; "); } catch { /* not our error body */ }
  const error = new Error(message);
  error.status = response.status;
  throw error;
}

const operator = () => ({ apikey: store.getItem("key") });
const owner = (instance) => ({ Authorization: "Bearer " + instance.Auth.token });

function show(error) {
  byId("error").hidden = !error;
  byId("error").textContent = error ? error.message : "";
}

async function attempt(action) {
  try {
    await action();
    show(null);
  } catch (error) {
    if (error.status === 401 && store.getItem("key")) leave();
    show(error);
  }
}

function element(tag, text, className) {
  const made = document.createElement(tag);
  if (text !== undefined) made.textContent = text;
  if (className) made.className = className;
  return made;
}

function button(text, action) {
  const made = element("button", text);
  made.type = "button";
  made.addEventListener("click", () => attempt(async () => { await action(); await look(); }));
  return made;
}

function row(instance) {
  const path = "/instance/" + encodeURIComponent(instance.name);
  const tr = element("tr");
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

// connect shows the code until a phone took it or the dialog is closed.
async function connect(instance) {
  const path = "/instance/" + encodeURIComponent(instance.name) + "/connect";
  watched = instance.name;
  const dialog = byId("scan");
  dialog.querySelector("h2").textContent = instance.name;
  while (watched === instance.name) {
    const answer = await call("GET", path, owner(instance));
    if (!answer.base64 || !answer.base64.startsWith("data:image/png;base64,")) break;
    dialog.querySelector("img").src = answer.base64;
    dialog.querySelector("p").textContent = "Open WhatsApp, Linked devices, Link a device. Code " + answer.count + ".";
    if (!dialog.open) dialog.showModal();
    await new Promise((done) => setTimeout(done, pause));
  }
  watched = null;
  if (dialog.open) dialog.close();
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
  const list = byId("figures");
  list.replaceChildren();
  for (const line of text.split("\n")) {
    const [name, value] = line.split(" ");
    if (name in figures) list.append(element("dt", figures[name]), element("dd", Number(value).toLocaleString()));
  }
}

async function look() {
  if (!store.getItem("key")) return;
  const [instances, metrics] = await Promise.all([call("GET", "/instance", operator()), call("GET", "/metrics", operator())]);
  byId("instances").replaceChildren(...instances.map(row));
  drawFigures(metrics);
  byId("enter").hidden = true;
  document.querySelector("main").hidden = false;
  byId("leave").hidden = false;
}

async function health() {
  const state = byId("health");
  try {
    await call("GET", "/ready", {});
    state.textContent = "ready";
    state.className = "good";
  } catch (error) {
    state.textContent = error.status ? "not ready" : "no answer";
    state.className = "bad";
  }
}

function leave() {
  store.removeItem("key");
  watched = null;
  byId("enter").hidden = false;
  document.querySelector("main").hidden = true;
  byId("leave").hidden = true;
}

byId("enter").addEventListener("submit", (event) => {
  event.preventDefault();
  store.setItem("key", byId("key").value.trim());
  byId("key").value = "";
  attempt(look);
});
byId("create").addEventListener("submit", (event) => {
  event.preventDefault();
  attempt(async () => {
    await call("POST", "/instance", operator(), { instanceName: byId("name").value.trim() });
    byId("name").value = "";
    await look();
  });
});
byId("leave").addEventListener("click", leave);
byId("scan").querySelector("button").addEventListener("click", () => { watched = null; byId("scan").close(); });
byId("scan").addEventListener("close", () => { watched = null; });

health();
attempt(look);
setInterval(() => { health(); if (store.getItem("key") && !byId("scan").open) attempt(look); }, pause);
