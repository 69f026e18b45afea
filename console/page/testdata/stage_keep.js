"use strict";

// Answers of the stage for the operator pages: deliveries, keys, audit, backups,
// configuration, log and sandbox.
(() => {
  const { scene, json, refusal } = stage;
  const ago = (seconds) => new Date(Date.now() - seconds * 1000).toISOString();
  const hostile = "<img src=x onerror=alert(1)><script>alert(2)</scr" + "ipt>‮ \"'&amp;";
  const list = (records, from = 0, limit = 100) => ({ nextCursor: records.length > from + limit ? String(from + limit) : null, previousCursor: null, totalRecords: records.length, records: records.slice(from, from + limit) });
  const ends = [["DELIVERED", 200, null], ["DELIVERED", 200, null], ["FAILED", null, "the connection was refused"], ["DELIVERED", 204, null], ["PENDING", 503, "the answer was 503"], ["EXPIRED", 500, "the answer was 500"], ["DROPPED", null, "the queue was full"], ["CANCELLED", null, "CAPACITY"]];
  const names = ["messages.upsert", "send.message", "connection.update", "messages.update"];
  const delivery = (id, more) => {
    const [state, lastStatus, lastError] = ends[id % ends.length];
    return {
      id, eventId: "01a205be-7791-7631-8201-f5877853" + (1000 + id), event: names[id % 4], flow: "instance", instanceId: 1, instanceName: ["shop", "support-berlin"][id % 2], batchId: null, target: id % 5 ? "webhook" : "endpoint", endpointId: id % 5 ? null : "crm",
      url: "https://crm.example.org/hooks/whatsapp", state, attemptCount: state === "DROPPED" ? 0 : 1 + id % 3, lastStatus, lastError, durationMs: state === "DROPPED" ? null : 20 + id * 37 % 400, bytes: 812, requestId: "ae2ba314-0637-4ac7-824f-e6f167ea63ad",
      createdAt: ago((240 - id) * 47), lastAttemptAt: ago((240 - id) * 46), nextAttemptAt: state === "PENDING" ? ago(-30) : null, replayOf: null, replayable: state !== "DELIVERED", ...more,
    };
  };
  const empty = scene === "empty";
  stage.deliveries = empty ? [] : Array.from({ length: scene === "hostile" ? 3 : 240 }, (_, i) => delivery(240 - i, scene === "hostile" && { event: "messages.upsert", instanceName: "a".repeat(255), url: "https://example.org/" + "x".repeat(300), lastError: hostile, state: "FAILED", replayable: true }));
  stage.replay = { matched: 41, sent: 12, delivered: 11, failed: 1, state: "RUNNING" };
  const ofDeliveries = (method, path, body) => {
    const at = new URL(path, "http://x"), [, instance, id, what] = /^(?:\/instance\/([^/]+))?\/webhook\/deliveries(?:\/([^/]+))?(?:\/(\w+))?$/.exec(at.pathname) || [];
    if (method === "POST" && id === "replay") return json(202, { replayId: 3, matched: stage.replay.matched });
    if (!id) {
      const get = (name) => at.searchParams.get(name), states = at.searchParams.getAll("state");
      const found = stage.deliveries.filter((row) => (!states.length || states.includes(row.state)) && (!get("event") || row.event === get("event")) && (!get("target") || row.target === get("target")) && (!instance || row.instanceName === decodeURIComponent(instance)) && (!get("query") || JSON.stringify(row).includes(get("query"))));
      return json(200, list(found, Number(get("nextCursor") || 0), Number(get("limit") || 50)));
    }
    const row = stage.deliveries.find((one) => String(one.id) === id);
    if (!row) return refusal(404, "DELIVERY_NOT_FOUND");
    if (what === "retry") { Object.assign(row, { state: "PENDING" }); return json(202, row); }
    const text = scene === "hostile" ? hostile : "Is my order ready?";
    return json(200, { ...row, body: row.state === "DELIVERED" ? null : JSON.stringify({ event: row.event, instance: { id: 1, name: row.instanceName }, data: { id: 71, keyRemoteJid: "4915112345678@s.whatsapp.net", content: { text } } }),
      attempts: Array.from({ length: row.attemptCount }, (_, i) => ({ number: i + 1, startedAt: ago(900 - i * 60), durationMs: 30 + i, status: row.lastStatus, error: row.lastError, requestId: row.requestId, answer: row.lastStatus >= 300 || scene === "hostile" ? "<h1>503 Service Unavailable</h1>\n" + (scene === "hostile" ? hostile : "nginx") : null })) });
  };

  // Receivers: as many as the scene has webhooks.
  const receiver = (row, i) => {
    const failing = scene === "broken" || scene === "many" && i % 40 === 7;
    return {
      id: row.id + ":webhook", url: row.Webhook.url.split("?")[0], target: "webhook", endpointId: null, instanceName: row.name, durable: true, state: failing ? "FAILING" : "OK", since: ago(failing ? 720 : 9e4), failures: failing ? 6 : 0,
      lastSuccessAt: ago(failing ? 730 : 20), lastAttemptAt: ago(20), lastStatus: failing ? 503 : 200, lastError: failing ? "receiver answered 503" : null, nextAttemptAt: failing ? ago(-240) : null, waiting: failing ? 60 : 0, oldestWaitingAt: failing ? ago(700) : null,
      pausedUntil: null, day: { since: ago(86400), delivered: 2880 - i, failed: failing ? 24 : 2, averageMs: 41 },
    };
  };
  stage.receivers = stage.instances.filter((row) => row.Webhook).map(receiver).sort((a, b) => b.failures - a.failures);
  const hours = () => Array.from({ length: 24 }, (_, i) => ({ at: ago((23 - i) * 3600), delivered: 60 + i * 37 % 90, failed: i === 20 ? 14 : 0 }));
  const ofReceivers = (method, path, body) => {
    const at = new URL(path, "http://x"), [, instance, id, what] = /^(?:\/instance\/([^/]+)\/webhook)?\/receivers(?:\/([^/]+))?(?:\/(\w+))?$/.exec(at.pathname);
    const rows = stage.receivers.filter((row) => !instance || row.instanceName === decodeURIComponent(instance));
    if (!id) return json(200, list(rows.filter((row) => !at.searchParams.get("origin") || row.url.startsWith(at.searchParams.get("origin"))), 0, 1000));
    const row = rows.find((one) => one.id === decodeURIComponent(id));
    if (!row) return refusal(404, "RECEIVER_NOT_FOUND");
    if (what === "test") return json(200, scene === "broken" ? { delivered: false, statusCode: 503, durationMs: 12, error: "receiver answered 503" } : { delivered: true, statusCode: 200, durationMs: 84, error: null });
    if (what === "pause") return json(200, Object.assign(row, { state: "PAUSED", since: ago(0), pausedUntil: ago(-body.expiresIn) }));
    if (what === "resume") return json(200, Object.assign(row, { state: "OK", pausedUntil: null }));
    return json(200, { ...row, hours: row.url ? hours() : undefined });
  };

  const key = (n, name, more) => ({ id: "0196f0a0-0000-7000-8000-00000000000" + n, name, instances: ["*"], scopes: ["read", "metrics"], userId: null, recipients: null, rateLimit: null, expiresAt: null, createdAt: ago(9e6), updatedAt: ago(9e6), lastUsedAt: ago(120 * n), lastUsedFrom: "10.1.4." + n, ...more });
  const running = (batch, instance, url) => ({
    batches: [{ id: "1", name: batch, status: "PROCESSING" }, { id: "2", name: batch, status: "WAITING_FOR_WINDOW" }], totalBatches: 42,
    webhooks: [{ instanceId: 1, instanceName: instance, target: "webhook", url }, { instanceId: 1, instanceName: instance, target: "endpoint", endpointId: "crm", url }], totalWebhooks: 2,
    scheduled: [{ instanceName: instance, scheduledId: "s1", sendAt: ago(-3600) }], totalScheduled: 1,
  });
  stage.keys = empty ? [] : scene === "hostile" ? [key(1, hostile, { instances: ["a".repeat(255)], lastUsedFrom: "2001:db8:aaaa:bbbb:cccc:dddd:eeee:ffff", running: running(hostile, "a".repeat(255), "https://example.org/" + "x".repeat(300)) })] : [
    key(1, "Monitoring"), key(2, "CRM", { instances: ["shop", "support-berlin"], scopes: ["read", "send", "media"], recipients: ["4915112345678"], rateLimit: { perMinute: 120 }, expiresAt: ago(-86400 * 60) }),
    key(3, "Spring campaign", { running: running("Spring greetings", "shop", "https://crm.example.org/hook"), scopes: ["batch", "send", "webhook"], userId: "7b7c0f6e-2f6a-4d0e-9a54-2b8f6b7c0f6e", expiresAt: ago(86400) }), key(4, "Agent", { instances: ["shop"], lastUsedAt: null, lastUsedFrom: null })];
  const audit = empty ? [] : Array.from({ length: 120 }, (_, i) => ({ id: 120 - i, at: ago(i * 4000 + 60), actor: ["global", "instance:shop", "0196f0a0-0000-7000-8000-000000000002"][i % 3], action: ["webhook.change", "key.create", "backup.create", "log.change", "instance.create"][i % 5], subject: scene === "hostile" ? hostile : ["shop", "0196f0a0-0000-7000-8000-000000000001", "", "debug", "newsletter"][i % 5], from: "10.1.4." + i }));
  const settings = [["server.listen", "127.0.0.1:8084", "127.0.0.1:8084", "default", "Address to listen on."], ["server.base_url", "https://wa.example.org", "", "environment SERVER_BASE_URL", "Public address of this program, for links; server.base_path may be left out."], ["authentication.global_auth_token", "********", null, "environment AUTHENTICATION_GLOBAL_AUTH_TOKEN_FILE", "The GlobalApiKey."], ["webhook.log_bodies", "failed", "failed", "default", "Which bodies are kept: all, failed or none."], ["webhook.replay_rate", 20, 50, "/etc/postern/config.toml", "Deliveries a second of a replay."], ["backup.every", "24h", "0s", "/etc/postern/config.toml", "How often a backup is made."], ["sandbox.enabled", scene === "three", false, "default", "Run the built-in local WhatsApp server and connect every instance to it."]]
    .map(([name, value, usual, source, about]) => ({ name, value: scene === "hostile" && name === "server.base_url" ? hostile + "x".repeat(200) : value, default: usual, source, about }));
  let level = { level: "info", usual: "info", until: null };
  const at = (i) => ago((60 - i) * 13);
  const lines = () => Array.from({ length: 60 }, (_, i) => i % 17 === 16 ? `time=${at(i)} level=ERROR msg="a delivery failed for good" component=dispatch instance=shop error="${scene === "hostile" ? hostile : "the connection was refused"}"` : i % 11 === 10 ? `time=${at(i)} level=WARN msg=configuration warning="others than the owner may read /data; chmod 700 /data"` : `time=${at(i)} level=INFO msg=request component=httpapi method=POST route=/instance/{i}/send/text status=200 duration=${i}.4ms request_id=eac9fbf2-f383-4056-ba78-5d1c09dd4a${10 + i}`).join("\n");
  const file = stage.file = (name) => new Response(new Blob(["file"]), { headers: { "Content-Disposition": `attachment; filename="${name}"` } });
  stage.phones = () => empty ? [] : [{ phone: "4915155500137", pushName: scene === "hostile" ? hostile : "Phone 0001", lid: "197921775299566@lid", devices: [{ id: 1, online: true, queued: 0, preKeys: 811, linkedAt: ago(9000) }] }, { phone: "4915155500274", pushName: "Phone 0002", lid: "1@lid", devices: [{ id: 1, online: false, queued: 3, preKeys: 811, linkedAt: ago(9000) }] }, { phone: "5511900000003", pushName: "Ada", lid: "2@lid", devices: [] }];
  const acts = [{ do: "text", does: "the phone sends a text", fields: { to: "whom to write to", text: "the text", id: "the message id; missing: a new one" } }, { do: "image", does: "the phone sends a picture", fields: { to: "whom to write to", caption: "the text below the picture" } }];

  stage.keeping = (request, path, body) => {
    const [method] = request.split(" "), [bare] = path.split("?");
    if (/\/webhook\/deliveries/.test(bare)) return ofDeliveries(method, path, body);
    if (/^(\/instance\/[^/]+\/webhook)?\/receivers/.test(bare)) return ofReceivers(method, path, body);
    if (/\/webhook\/replays\//.test(bare)) { if (method === "DELETE") stage.replay.state = "CANCELLED"; return json(200, stage.replay); }
    if (request === "POST /keys") { const made = key(9, body.name, { ...body, lastUsedAt: null, lastUsedFrom: null }); stage.keys.unshift(made); return json(201, { ...made, key: "pk_0sampleKeyOfTheStage7Qm2" }); }
    if (bare === "/keys") return json(200, list(stage.keys, 0, 200));
    const one = /^\/keys\/(.+)$/.exec(bare)?.[1], found = one && stage.keys.find((row) => row.id === one);
    if (found && method === "PATCH") return json(200, Object.assign(found, body));
    const left = found?.running || { batches: [], totalBatches: 0, webhooks: [], totalWebhooks: 0, scheduled: [], totalScheduled: 0 };
    if (found && method === "GET") return json(200, { ...found, ...left });
    if (found && method === "DELETE") { stage.keys = stage.keys.filter((row) => row !== found); return json(200, { ...found, ...left, ...(path.includes("stop=true") && { stopped: left }) }); }
    if (bare === "/audit") return json(200, list(audit, Number(new URL(path, "http://x").searchParams.get("nextCursor") || 0)));
    if (request === "POST /admin/backup") return file("postern-20260518T094112Z.tar");
    if (request === "POST /admin/check") return json(200, { buckets: 62, records: 104212, bytes: 16805888, faults: scene === "broken" ? ["the index of messages of instance 3 has 2 entries too many; a start puts it right"] : [] });
    if (request === "GET /admin/config") return json(200, { settings, warnings: scene === "broken" ? ["others than the owner may read /data; chmod 700 /data"] : [], pending: scene === "broken" ? ["log.format"] : [] });
    if (bare === "/admin/log") {
      if (method === "PUT") level = { level: body.level, usual: "info", until: ago(-60 * body.minutes) };
      if (method === "DELETE") level = { level: "info", usual: "info", until: null };
      return json(200, level);
    }
    if (bare === "/admin/log/lines") return new Response(lines());
    if (bare === "/admin/support") return file("postern-support-20260518T094112Z.zip");
    if (bare === "/sandbox/phones" && method === "GET") return ["three", "hostile", "empty"].includes(scene) ? json(200, stage.phones()) : refusal(404, "NOT_FOUND");
    if (request === "POST /sandbox/phones") return json(201, { phone: "5511900000009", devices: [] });
    if (bare === "/sandbox/help") return json(200, { about: "", routes: {}, acts });
    if (/^\/sandbox\/phones\/\d+\/act$/.test(bare)) return json(200, { id: "3EB0C0FFEE" });
    if (request === "POST /sandbox/faults") return json(200, {});
  };
})();
