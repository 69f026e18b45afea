"use strict";

// A fake server for the page: it replaces the network functions before the modules load.
// ?scene= selects the data: nothing, three instances, 2000, hostile names, everything broken.
// Tests change its answers by window.stage.
(() => {
  const asked = new URLSearchParams(location.search);
  const scene = asked.get("scene") || "three";
  sessionStorage.clear(); // drafts of the page before
  if (asked.has("still")) { // pictures always show the same time
    const now = Date.UTC(2026, 4, 18, 9, 41, 12), Real = Date;
    window.Date = class extends Real {
      constructor(...args) { super(...(args.length ? args : [now])); }
      static now() { return now; }
    };
  }
  const ago = (seconds) => new Date(Date.now() - seconds * 1000).toISOString();
  const hostile = "<img src=x onerror=alert(1)><script>alert(2)</scr" + "ipt>‮ \"'&amp;";
  const hook = (host, enabled = true) => ({ id: 1, url: `https://${host}/hooks/whatsapp`, enabled, events: { messagesUpsert: true, connectionUpdated: true, sendMessage: true }, createdAt: ago(9e5), updatedAt: ago(9e4), instanceId: 1 });
  let ids = 0;
  const instance = (name, state, more) => ({
    id: ++ids, name, description: "", status: state === "online" ? "ONLINE" : "OFFLINE", connectionStatus: state,
    ownerJid: ["offline", "qr_code", "logged_out"].includes(state) ? null : "49151" + String(55500000 + ids * 137) + "@s.whatsapp.net", profilePicUrl: null, externalAttributes: {},
    tags: [], troubles: [], lastReceivedAt: state === "online" ? ago(30 + ids * 61 % 4000) : undefined, createdAt: ago(86400 * 40 + ids * 3000), updatedAt: ago(200 + ids * 977 % 90000), Auth: null, Webhook: null, ...more,
  });
  const states = ["online", "online", "online", "online", "online", "online", "reconnecting", "offline", "logged_out", "qr_code", "connection_error", "keepalive_timeout"];
  const scenes = {
    empty: () => [],
    three: () => [instance("shop", "online", { description: "Front desk", tags: ["retail", "north"], Webhook: hook("crm.example.org") }), instance("support-berlin", "online", { description: "Support, Berlin", Webhook: hook("desk.example.org", false) }), instance("newsletter", "offline", { description: "For the spring campaign" })],
    many: () => Array.from({ length: 2000 }, (_, i) => instance("store-" + String(i + 1).padStart(4, "0"), i % 9 ? "online" : states[i / 9 % states.length], { description: ["Berlin", "Lisboa", "Madrid", "São Paulo", "Hamburg"][i % 5], tags: i % 4 ? [["north", "south"][i % 2]] : ["north", "paying", "since 2024"], Webhook: i % 3 ? hook("events.example.org") : null })),
    hostile: () => [instance("a".repeat(255), "online", { description: hostile, ownerJid: hostile, Webhook: { ...hook("x.example"), url: "https://example.org/?" + hostile } }), instance("name.with-everything_0", hostile, { description: "‏עברית و العربية " + "x".repeat(200) }), instance("emoji", "logged_out", { description: "👩‍👩‍👧‍👦 ".repeat(20) })],
    broken: () => ["logged_out", "stream_replaced", "connection_error", "session_missing", "client_outdated", "temporary_ban", "disconnected", "keepalive_timeout"].map((state, i) => instance("till-" + (i + 1), state, { description: "Till " + (i + 1), Webhook: hook("down.example.org") })),
  };

  // wave is deterministic sample data of a day, so that pictures are reproducible.
  const wave = (i, scale) => Math.max(0, Math.round(scale * (1 + Math.sin(i / 230) * 0.6 + Math.sin(i / 17) * 0.18 + Math.sin(i * 1.7) * 0.12)));
  const samples = () => Array.from({ length: scene === "empty" ? 4 : 1440 }, (_, i) => ({
    at: ago((1439 - i) * 60), instances: {}, sent: scene === "empty" ? 0 : wave(i, 34), received: scene === "empty" ? 0 : wave(i + 90, 61), deliveries: scene === "empty" ? 0 : wave(i + 40, 88),
    failed: scene === "broken" ? (i > 1400 ? wave(i, 70) : 0) : scene !== "empty" && i % 211 === 0 ? 3 : 0, oldestPendingSeconds: scene === "broken" ? 7300 : 0, fileBytes: scene === "empty" ? 16805888 : 1.4e9 - (1439 - i) * 2e4, memoryBytes: scene === "empty" ? 63e6 : 190e6 + wave(i, 24) * 1e6,
  }));

  const stage = window.stage = { scene, asked: [], answers: {}, down: false, sockets: [], signedIn: !asked.has("out"), key: "right", session: { operator: true }, instances: (scenes[scene] || scenes.three)() };
  const json = (status, value) => new Response(status === 204 ? null : JSON.stringify(value), { status, headers: { "Content-Type": "application/json" } });
  const refusal = stage.refusal = (status, code, ...messages) => json(status, { statusCode: status, code, messages: messages.length ? messages : [code], requestId: "0196f0a0-0000-7000-8000-000000000001" });
  stage.json = json;
  const later = (ms) => new Promise((done) => setTimeout(done, ms));

  const broken = scene === "broken";
  const defaults = {
    settings: { ignore: { groups: false, status: true, newsletters: false, broadcasts: false, jids: [] }, rejectCalls: { enabled: true, message: "Please write to us." }, readMessages: false, alwaysOnline: true, history: { days: 30, groups: false } },
    limits: { perMinute: 20, perDay: 1000, newContactsPerDay: 50, timezone: "Europe/Berlin", quietHours: { from: "21:00", to: "08:00" } },
    "webhook/options": { durable: true, order: "chat", maxAge: "72h", headers: { "X-Api-Key": "***" }, signing: { enabled: true }, filter: { groups: true, status: false, newsletters: true, broadcasts: true, fromMe: true }, endpoints: [{ id: "crm", url: "https://crm.example.org/in", enabled: true, events: { messagesUpsert: true }, headers: {}, signing: { enabled: false } }] },
    proxy: { url: "socks5://proxy.example.org:1080", for: ["socket", "media"], createdAt: ago(9000), updatedAt: ago(9000) },
  };
  const status = (row) => ({
    state: row.connectionStatus === "online" ? "open" : "close", statusReason: broken ? 401 : 0, instanceName: row.name, connectionStatus: String(row.connectionStatus).toUpperCase(), connected: row.connectionStatus === "online", loggedIn: !!row.ownerJid, ownerJid: row.ownerJid,
    lastConnectedAt: ago(5000), lastReceivedAt: ago(40), lastSentAt: ago(300), day: scene === "empty" ? undefined : { since: ago(86400), received: 1204, sent: 731, waiting: broken ? 60 : 0, failed: broken ? 24 : 2 },
    lastError: broken || scene === "hostile" ? hostile : null,
    restriction: broken ? { kind: "reachout_timelock", since: ago(3600), until: new Date(Date.now() + 7.2e6).toISOString(), source: "notified", reason: hostile, code: 463, count: 3 } : null, passkey: null,
    limits: { perMinute: { limit: 20, used: broken ? 20 : 7, resetsAt: new Date(Date.now() + 30000).toISOString() }, perDay: { limit: 1000, used: broken ? 870 : 312, resetsAt: null }, newContactsPerDay: { limit: 50, used: 11, resetsAt: null } },
  });
  const kept = new Map(); // stored PUT bodies
  const metrics = () => ["postern_store_disk_free_bytes 2.4e+10", "postern_backup_last_success_timestamp_seconds " + (broken ? Date.now() / 1000 - 9 * 86400 : Date.now() / 1000 - 5400), ...stage.instances.slice(0, 3).flatMap((row) => [`postern_instance_received_total{name="${row.name}"} 4211`, `postern_instance_sent_total{name="${row.name}"} 1904`, `postern_instance_undecryptable_total{name="${row.name}"} 2`, `postern_instance_webhook_failures_total{name="${row.name}"} 0`])].join("\n");

  // A square of noise replaces the QR code.
  stage.picture = () => {
    const canvas = Object.assign(document.createElement("canvas"), { width: 37, height: 37 }), pen = canvas.getContext("2d");
    pen.fillStyle = "#fff";
    pen.fillRect(0, 0, 37, 37);
    pen.fillStyle = "#000";
    for (let i = 0; i < 37 * 37; i++) if ((Math.imul(i + 7, 2654435761) >>> 16) % 100 < 48) pen.fillRect(i % 37, Math.floor(i / 37), 1, 1);
    for (const [x, y] of [[0, 0], [30, 0], [0, 30]]) for (const [d, colour] of [[0, "#000"], [1, "#fff"], [2, "#000"]]) { pen.fillStyle = colour; pen.fillRect(x + d, y + d, 7 - 2 * d, 7 - 2 * d); }
    return canvas.toDataURL();
  };

  const ofInstance = (row, request, rest, body) => {
    if (request === "GET /connection/status") return json(200, { ...status(row), ...stage.status });
    if (rest === "/connect") return json(200, { count: 1, code: "2@x", base64: stage.picture(), expiresAt: new Date(Date.now() + 42000).toISOString(), alreadyConnected: false, alreadyConnecting: false });
    if (request === "POST /connect/code") return json(200, { code: "K7QX-2M9R" });
    if (request === "POST /restart") return json(200, status(row));
    if (request === "DELETE /logout") { row.connectionStatus = "logged_out"; return json(200, { connectionStatus: "LOGGED_OUT" }); }
    if (request === "POST /portal-link") return json(201, { url: "https://postern.example.org/portal/" + "k7Qx".repeat(10), expiresAt: new Date(Date.now() + body.expiresIn * 1000).toISOString() });
    if (request === "PUT /token") return json(200, { token: "eyJhbGciOiJIUzI1NiJ9.eyJpbnN0YW5jZU5hbWUiOiJzaG9wIn0.c2lnbmF0dXJl" });
    if (request === "POST /export") { Object.assign(row, { connectionStatus: "offline", ownerJid: row.ownerJid || "4915155500137@s.whatsapp.net" }); stage.tell({ type: "instance", instance: row }); return stage.file(row.name + ".account"); }
    if (request === "DELETE /export") { row.connectionStatus = "online"; stage.tell({ type: "instance", instance: row }); return json(204); }
    if (request.startsWith("DELETE ?")) { stage.instances = stage.instances.filter((one) => one !== row); return json(200, { deleted: true }); }
    if (request === "POST /webhook/test") return json(200, broken ? { delivered: false, statusCode: 0, durationMs: 12, error: "the connection was refused" } : { delivered: true, statusCode: 200, durationMs: 84, error: null });
    if (request === "POST /proxy/test") return json(200, { ok: true, latencyMs: 41, step: null, error: null });
    const part = rest.slice(1), key = row.name + rest;
    if (request === "PUT /webhook") { row.Webhook = { ...hook("x"), ...row.Webhook, ...body, id: 1 }; return json(200, row.Webhook); }
    if (request === "GET /webhook") return row.Webhook ? json(200, row.Webhook) : refusal(404, "WEBHOOK_NOT_FOUND");
    if (request === "PUT /tags") return body.tags.some((tag) => tag.length > 40) ? refusal(422, "INVALID_TAG", "a tag has 1 to 40 characters") : json(200, { tags: row.tags = body.tags });
    if (request.startsWith("PUT ")) { kept.set(key, body); return json(200, body); }
    if (request.startsWith("GET ") && defaults[part]) return json(200, kept.get(key) || defaults[part]);
    if (request === "DELETE /webhook/options") { kept.delete(key); return json(200, defaults[part]); }
    if (request === "DELETE /proxy") return json(200, { deleted: true });
  };

  let under = 0; // pending calls
  const real = window.fetch;
  window.fetch = async (...asked) => {
    if (asked[0] === "./") return real(...asked); // the page itself
    under++;
    try {
      return await answer(...asked);
    } finally {
      setTimeout(() => under--); // after the caller has the answer
    }
  };
  const answer = async (address, init = {}) => {
    const path = String(address).replace(/^\.\//, "/"), request = (init.method || "GET") + " " + path;
    if (path === address) throw new Error(address + " is not relative to the page");
    stage.asked.push(request);
    const headers = new Headers(init.headers); // throws like fetch
    if (init.signal?.aborted) throw init.signal.reason;
    if (stage.down) throw new TypeError("Failed to fetch");
    const [bare] = path.split("?"), body = typeof init.body === "string" ? JSON.parse(init.body) : undefined;
    const own = stage.answers[request] || stage.answers[request.split("?")[0]];
    if (own) {
      const found = await own(body, headers);
      if (found) return found;
    }
    if (path === "/troubles") return json(200, { at: new Date().toISOString(), items: stage.troubles || [] });
    if (path === "/ready") return broken ? json(503, { status: "not ready", reasons: ["the disk is nearly full: 212 MB are left"], warnings: ["the last backup failed: no space left on device", hostile] }) : json(200, { status: "ready" });
    if (path === "/health") return json(200, { status: "ok" });
    if (request === "POST /session") {
      if (headers.get("apikey") !== String.fromCharCode(...new TextEncoder().encode(stage.key))) return refusal(401, "UNAUTHORIZED");
      stage.signedIn = true;
      return json(201, { csrf: "csrf", expiresAt: ago(-43200) });
    }
    if (!stage.signedIn) return refusal(401, "UNAUTHORIZED");
    if (init.method && init.method !== "GET" && headers.get("x-postern-csrf") !== "csrf") return refusal(403, "CSRF");
    if (request === "GET /session") return json(200, { csrf: "csrf", expiresAt: ago(-43200), ...stage.session });
    if (request === "DELETE /session") { stage.signedIn = false; return json(204); }
    if (request === "GET /instance") return json(200, stage.instances);
    if (request === "POST /instance") {
      if (stage.instances.some((row) => row.name === body.instanceName)) return refusal(409, "INSTANCE_EXISTS");
      const row = instance(body.instanceName || "instance-1", "offline", { description: body.description || "", updatedAt: ago(0) });
      stage.instances.push(row);
      return json(201, { ...row, Auth: { id: 1, token: "token" } });
    }
    if (request === "POST /admin/import") {
      const row = instance(init.body.get("name") || "shop", "online", { updatedAt: ago(0) });
      stage.instances.push(row);
      return json(201, { instanceName: row.name, ownerJid: row.ownerJid, contacts: 4, messages: 20, tokenReplaced: false, createdAt: row.createdAt, Auth: null });
    }
    if (bare === "/webhook/options") {
      const { filter: _, endpoints: __, ...common } = defaults["webhook/options"];
      return json(200, body || common);
    }
    if (path === "/admin/samples?interval=3600") return json(200, { interval: 3600, samples: Array.from({ length: scene === "empty" ? 1 : 720 }, (_, i) => ({ at: new Date((Math.floor(Date.now() / 3.6e6) - 719 + i) * 3.6e6).toISOString(), instances: {}, sent: wave(i, 2000), received: wave(i + 90, 3600), deliveries: wave(i + 40, 5200), failed: i % 31 ? 0 : 40 })).filter((_, i) => i < 200 || i > 230) });
    if (path === "/admin/samples") return json(200, { interval: 60, backup: scene === "empty" ? null : { every: "24h", lastAt: ago(broken ? 9 * 86400 : 5400), bytes: 4.1e8, failure: broken ? "no space left on device" : null, failedAt: broken ? ago(300) : null }, samples: samples() });
    const keeping = stage.keeping(request, path, body);
    if (keeping) return keeping;
    if (path === "/metrics") return new Response(metrics());
    if (!path.startsWith("/instance/")) {
      const found = stage.more?.(init.method || "GET", path, body, headers);
      if (found) return found;
    }
    const [, name, rest = ""] = /^\/instance\/([^/?]+)(.*)$/.exec(path) || [];
    const row = name && stage.instances.find((one) => one.name === decodeURIComponent(name));
    if (name && !row) return refusal(404, "INSTANCE_NOT_FOUND");
    await later(1);
    const more = stage.more?.(init.method || "GET", path, body, headers, init.body, row);
    if (more) return more;
    const found = row && ofInstance(row, (init.method || "GET") + " " + rest, rest, body);
    return found || refusal(404, "NOT_FOUND", "the stage does not know " + request);
  };

  const frame = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  const until = async (is) => { while (!is()) await frame(); };
  // settled waits until no call is pending and the page is drawn.
  stage.settled = async () => {
    for (let quiet = 0; quiet < 4; quiet++) {
      if (under || document.querySelector("main .loading, .plot:empty") || !document.querySelector("main h1")) quiet = 0;
      await frame();
    }
    await document.fonts.ready;
  };
  // press waits for an element, clicks it and waits until the page settles.
  stage.press = async (selector, at = 0) => {
    await until(() => document.querySelectorAll(selector).length);
    [...document.querySelectorAll(selector)].at(at).click();
    await stage.settled();
  };
  stage.until = until;

  // The live connections.
  window.WebSocket = class extends EventTarget {
    constructor(address) {
      super();
      Object.assign(this, { url: address, path: new URL(address).pathname, readyState: 0 });
      stage.sockets.push(this);
      setTimeout(() => {
        if (stage.down || !stage.signedIn) return this.fall(1006);
        this.readyState = 1;
        this.dispatchEvent(new Event("open"));
        if (this.path === "/ws/console") this.hear({ type: "hello", at: ago(0) });
        else if (!/qrcode|messages/.test(this.url)) for (const one of stage.events || []) this.hear(one);
      }, 5);
    }
    hear(message) { if (this.readyState === 1) this.dispatchEvent(new MessageEvent("message", { data: JSON.stringify(message) })); }
    fall(code) {
      if (this.readyState === 3) return;
      this.readyState = 3;
      this.dispatchEvent(new CloseEvent("close", { code }));
    }
    close() { setTimeout(() => this.fall(1000)); }
    send() { throw new Error("the page sends nothing over its live connections"); }
  };
  const envelope = (event, data) => ({ event, instance: { id: 1, name: "shop", connectionStatus: "online" }, data, timestamp: ago(0) });
  stage.events = [
    envelope("connection.update", { type: "connected", connection: "open", connectionStatus: "online" }),
    envelope("messages.upsert", { id: 71, keyId: "3EB0A1", keyRemoteJid: "4915112345678@s.whatsapp.net", keyFromMe: false, pushName: "Ada", messageType: "conversation", content: { text: "Is my order ready?" } }),
    envelope("send.message", { id: 72, keyRemoteJid: "4915112345678@s.whatsapp.net", messageType: "conversation", content: { text: "Yes, from four o’clock on." }, status: "sent" }),
    envelope("messages.update", { id: 72, keyRemoteJid: "4915112345678@s.whatsapp.net", status: "READ" }),
    envelope("messages.upsert", { id: 73, keyRemoteJid: "4915112345678@s.whatsapp.net", messageType: "conversation", content: { text: hostile } }),
  ];
  // tell sends a message over the page's live connection.
  stage.tell = (message) => stage.sockets.filter((one) => one.path === "/ws/console").forEach((one) => one.hear(message));
  // fall simulates a lost server: connections end and calls fail.
  stage.fall = () => {
    stage.down = true;
    stage.sockets.forEach((one) => one.fall(1006));
  };
  stage.rise = () => { stage.down = false; };
})();
