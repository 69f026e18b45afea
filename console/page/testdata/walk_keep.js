"use strict";

// Further steps of walk.js: the operator pages. tools are the helpers of walk.js.
window.further = ({ $, all, at, button, dialog, hostile, later, menu, press, signIn, type, want }) => {
  const delivery = (id, more) => ({ id, eventId: "e" + id, event: "messages.upsert", flow: "instance", instanceId: 1, instanceName: "one", batchId: null, target: "webhook", endpointId: null, url: "https://example.org/" + hostile, state: "FAILED", attemptCount: 1, lastStatus: 500, lastError: hostile, durationMs: 5, bytes: 9, requestId: "r", createdAt: "2026-01-01T00:00:00Z", lastAttemptAt: "2026-01-01T00:00:01Z", nextAttemptAt: null, replayOf: null, replayable: true, ...more });
  const list = (records, totalRecords = records.length) => stage.json(200, { nextCursor: null, previousCursor: null, totalRecords, records });
  const asked = (start) => stage.asked.filter((request) => request.startsWith(start));
  const pick = async (box, value) => {
    box.value = value;
    box.dispatchEvent(new Event("change", { bubbles: true }));
    await later(500);
  };
  const toasts = () => $(".toasts").textContent;
  return {
    async "filters of deliveries are in the request and the address"() {
      await signIn("right");
      stage.answers["GET /webhook/deliveries"] = () => list([delivery(2), delivery(1)]);
      await at("deliveries");
      await later(500);
      want($("main").textContent.split(hostile).length >= 3 && !$("main img, main script"), "foreign texts are shown as text");
      all(".filter").find((one) => one.textContent === "Failed").click();
      await later(500);
      all(".filter").find((one) => one.textContent === "Expired").click();
      await later(500);
      $(".further").open = true;
      await pick(all(".further select")[1], "messages.upsert");
      await type($("[type=search]"), "4915112345678@s.whatsapp.net");
      await later(500);
      const last = asked("GET /webhook/deliveries?").at(-1);
      want(last.includes("state=FAILED&state=EXPIRED") && last.includes("event=messages.upsert") && last.includes("query=4915112345678%40s.whatsapp.net"), "filters are in the request: " + last);
      want(location.hash.includes("state=FAILED%2CEXPIRED") && location.hash.includes("q="), "filters are in the address");
      await pick(all(".further select")[0], "one");
      want(asked("GET /instance/one/webhook/deliveries?").length > 0 && ![...all(".further select")[2].options].some((one) => one.value === "global"), "an instance has its own list");
    },
    async "deliveries are updated live"() {
      await signIn("right");
      const rows = [delivery(2), delivery(1)];
      stage.answers["GET /webhook/deliveries"] = () => list(rows);
      await at("deliveries");
      await later(500);
      const before = stage.asked.length;
      stage.tell({ type: "delivery", delivery: delivery(2, { state: "DELIVERED", lastError: null }) });
      await later(1000);
      want($(".sheet").textContent.includes("Delivered") && stage.asked.length === before, "a row in view follows the live connection");
      rows.unshift(delivery(3));
      stage.tell({ type: "delivery", delivery: delivery(3) });
      await later(1500);
      want(all(".sheet .row").length === 3, "a new one is loaded");
      rows.unshift(delivery(4));
      stage.tell({ type: "deliveries", changed: 300 });
      await later(1500);
      want(all(".sheet .row").length === 4, "many at once are loaded together");
    },
    async "a delivery shows its body and attempts, and is sent again"() {
      await signIn("right");
      stage.answers["GET /webhook/deliveries/2"] = () => stage.json(200, { ...delivery(2), body: JSON.stringify({ event: "messages.upsert", data: hostile }), attempts: [{ number: 1, startedAt: "2026-01-01T00:00:01Z", durationMs: 5, status: 500, error: "the answer was 500", requestId: "r", answer: hostile }] });
      stage.answers["POST /webhook/deliveries/2/retry"] = () => stage.refusal(409, "BODY_GONE");
      await at("deliveries/2");
      await later(300);
      want(all("pre.code").some((one) => one.textContent.includes('"data"')) && $("main").textContent.includes("Rejected with 500") && !$("main img, main script"), "all of it is text");
      await press("Send again");
      want($("main [role=alert]").textContent.includes("no longer stored"), "a refusal shows the reason");
      stage.answers["POST /webhook/deliveries/2/retry"] = () => stage.json(202, delivery(2, { state: "PENDING" }));
      await press("Send again");
      await later(200);
      want(toasts().includes("queued again") && !$("main [role=alert]"), "success is shown");
      await at("deliveries/777");
      await later(300);
      want($("main").textContent.includes("Delivery not found"), "a deleted delivery is reported");
    },
    async "a replay is counted, followed and cancelled"() {
      await signIn("right");
      stage.answers["GET /webhook/deliveries"] = () => list([delivery(2)], 41);
      let body = null, state = "RUNNING";
      stage.answers["POST /webhook/deliveries/replay"] = (given) => { body = given; return stage.json(202, { replayId: 3, matched: 41 }); };
      stage.answers["GET /webhook/replays/3"] = () => stage.json(200, { matched: 41, sent: 12, delivered: 11, failed: 1, state });
      stage.answers["DELETE /webhook/replays/3"] = () => { state = "CANCELLED"; return stage.json(200, { matched: 41, sent: 12, delivered: 11, failed: 1, state }); };
      await at("deliveries");
      await later(500);
      await press("Replay");
      await later(600);
      want(dialog().textContent.includes("At most 41 deliveries") && button("Send 41 again", dialog()), "the upper limit is shown");
      await press("Send 41 again", dialog());
      await later(300);
      want(JSON.stringify(body) === '{"state":["FAILED","DROPPED","EXPIRED"]}', "what fails is sent again: " + JSON.stringify(body));
      want(!dialog() && $(".replay").textContent.includes("12 of 41 sent") && location.hash.includes("replay=3"), "the progress is shown");
      await press("Cancel", $(".replay"));
      await later(300);
      want($(".replay").textContent.includes("was cancelled"), "it was cancelled");
      await later(1500);
      const before = asked("GET /webhook/replays").length;
      await later(20000);
      want(asked("GET /webhook/replays").length === before, "and is no longer polled");
    },
    async "a key's text is shown once"() {
      await signIn("right");
      stage.keys = [];
      let body = null;
      const made = () => ({ id: "1", ...body, recipients: null, rateLimit: null, expiresAt: null, lastUsedAt: null, createdAt: "2026-01-01T00:00:00Z" });
      stage.answers["POST /keys"] = (given) => { body = given; stage.keys = [made()]; return stage.json(201, { ...made(), key: "pk_" + hostile }); };
      await at("keys");
      await press("New key");
      await type(dialog().querySelector("input"), hostile);
      all("dialog .check input").find((one) => one.closest(".check").textContent.includes("send")).click();
      all("dialog .check input[type=radio]")[1].click();
      await later(100);
      all("dialog .chosen-names .check input")[0].click();
      await type(dialog().querySelector("textarea"), "4915112345678\n4915100000000");
      await pick(dialog().querySelector("select"), "");
      await press("Create the key", dialog());
      await later(300);
      want(JSON.stringify(body) === JSON.stringify({ name: hostile, instances: ["one"], scopes: ["read", "send"], recipients: ["4915112345678", "4915100000000"] }), "it opens what was chosen: " + JSON.stringify(body));
      want(dialog().querySelector("input[readonly]").value === "pk_" + hostile && button("Copy", dialog()) && !$("dialog img"), "its text is shown for copying");
      await press("Done", dialog());
      want(!document.documentElement.outerHTML.includes("pk_") && $(".sheet").textContent.includes(hostile) && !$("main img"), "and never again");
    },
    async "a key is edited, and deleted after typing its name"() {
      await signIn("right");
      stage.keys = [{ id: "7", name: "CRM", instances: ["one"], scopes: ["read"], recipients: ["49"], rateLimit: { perMinute: 5 }, expiresAt: null, lastUsedAt: "2026-01-01T00:00:00Z", lastUsedFrom: "::1", createdAt: "2026-01-01T00:00:00Z" }];
      let body = null;
      stage.answers["PATCH /keys/7"] = (given) => { body = given; return stage.json(200, stage.keys[0]); };
      await at("keys");
      await menu("CRM", "Edit");
      await type(dialog().querySelector("textarea"), "");
      await type(dialog().querySelector("[type=number]"), "");
      await press("Save", dialog());
      await later(300);
      want(JSON.stringify(body) === '{"name":"CRM","instances":["one"],"expiresAt":"","recipients":["*"],"rateLimit":{"perMinute":0}}', "what is emptied has no bound: " + JSON.stringify(body));
      await menu("CRM", "Delete");
      await press("Delete", dialog());
      want(!asked("DELETE").length, "not without its name");
      await type(dialog().querySelector("input"), "CRM");
      await press("Delete", dialog());
      await later(300);
      want(asked("DELETE /keys/7").length === 1 && $("main").textContent.includes("No keys yet"), "it is gone");
    },
    async "deleting a key can stop its running work"() {
      await signIn("right");
      const more = { batches: Array.from({ length: 6 }, (_, i) => ({ id: "b" + i, name: i ? "batch " + i : hostile, status: "PROCESSING" })), totalBatches: 1200, webhooks: [{ instanceId: 1, instanceName: "one", target: "webhook", url: "https://example.org/" + hostile }], totalWebhooks: 1, scheduled: [{ instanceName: "one", scheduledId: "s", sendAt: new Date().toISOString() }], totalScheduled: 1 };
      stage.keys = ["7", "8"].map((id) => ({ id, name: "CRM " + id, instances: ["one"], scopes: ["batch"], recipients: null, rateLimit: null, expiresAt: null, lastUsedAt: null, createdAt: "2026-01-01T00:00:00Z", running: more }));
      await at("keys");
      for (const [id, stop] of [["7", true], ["8", false]]) {
        await menu("CRM " + id, "Delete");
        const text = dialog().textContent;
        want(text.includes("batches: 1,200, webhooks: 1, scheduled messages: 1") && text.includes(hostile) && text.includes("batch 4") && !text.includes("batch 5") && text.includes("and 1,195 more") && !$("dialog img"), "running work is listed: " + text);
        const box = dialog().querySelector(".check input");
        want(!box.checked, "and stopped only on request");
        if (stop) box.click();
        await type(dialog().querySelector("form input"), "CRM " + id);
        await press("Delete", dialog());
        await later(300);
        want(asked("DELETE /keys/" + id).length === 1 && asked("DELETE /keys/" + id + "?stop=true").length === (stop ? 1 : 0), "it is asked for: " + asked("DELETE"));
      }
    },
    async "operator pages show the data of the API"() {
      await signIn("right");
      stage.answers["GET /audit"] = () => list([{ id: 1, at: "2026-01-01T00:00:00Z", actor: "global", action: "key.create", subject: hostile, from: "::1" }]);
      await at("audit");
      want($(".sheet").textContent.includes("key.create") && $(".sheet").textContent.includes(hostile) && !$("main img"), "the audit log");
      await at("backups");
      await press("Back up and download");
      await later(300);
      want(asked("POST /admin/backup").length === 1 && $("main [role=status]").textContent.includes("postern-20260518T094112Z.tar"), "a backup with its name");
      stage.answers["POST /admin/check"] = () => stage.json(200, { buckets: 1, records: 2, bytes: 3, faults: [hostile] });
      await press("Check");
      await later(300);
      want($(".faults").textContent === hostile && !$("main img"), "damage is listed");
      await at("configuration");
      await type($("[type=search]"), "replay");
      want(all(".config dt").map((one) => one.textContent).join() === "webhook.replay_rate" && $(".source").textContent === "/etc/postern/config.toml", "a setting with its source");
    },
    async "the audit log is filtered"() {
      await signIn("right");
      stage.answers["GET /audit"] = () => stage.json(200, { nextCursor: "7", previousCursor: null, totalRecords: null, records: [] });
      await at("audit");
      $(".further").open = true;
      await pick(all(".further select")[0], "webhook");
      await type($(".further input"), "shop");
      await pick(all(".further select")[1], "global");
      await later(500);
      want(asked("GET /audit?").at(-1).startsWith("GET /audit?action=webhook&subject=shop&actor=global&"), "it is asked for what is sought: " + asked("GET /audit?").at(-1));
      want(location.hash.includes("action=webhook") && $(".empty").textContent.includes("No matches"), "the filter is in the address and the list is empty");
      stage.answers["GET /audit"] = () => list([{ id: 3, at: "2026-01-01T00:00:00Z", actor: "global", action: "webhook.change", subject: "shop", from: "::1" }]);
      await press("Show more");
      await later(300);
      want(asked("GET /audit?").at(-1).includes("nextCursor=7") && all(".sheet .row").length === 1, "an empty page loads the next");
    },
    async "an account is moved, moved back and imported"() {
      stage.instances[0].connectionStatus = "online";
      await signIn("right");
      await at("instances");
      await menu("one", "Move to another Postern");
      await press("Move to another Postern", dialog());
      want(!asked("POST /instance/one/export").length, "not without its name");
      dialog().querySelector("[type=checkbox]").click();
      await type(dialog().querySelector("textarea"), "age1x\nage1y ");
      const sent = [];
      stage.answers["POST /instance/one/export"] = (body) => { sent.push(body); };
      await type(dialog().querySelector("form input"), "one");
      await press("Move to another Postern", dialog());
      await later(500);
      want(JSON.stringify(sent) === '[{"messages":false,"recipients":["age1x","age1y"]}]', "the options are sent: " + JSON.stringify(sent));
      want(!dialog() && toasts().includes("one.account") && $(".list .row").textContent.includes("Moved") && !button("Connect one"), "it is shown as moved, without Connect");
      stage.answers["DELETE /instance/one/export"] = () => stage.refusal(409, "INSTANCE_MOVED", hostile);
      await menu("one", "Undo the move");
      await type(dialog().querySelector("form input"), "one");
      await press("Undo the move", dialog());
      await later(300);
      want(dialog().textContent.includes("It has moved to another Postern"), "the refusal is explained");
      delete stage.answers["DELETE /instance/one/export"];
      await press("Undo the move", dialog());
      await later(500);
      want(!dialog() && $(".list .row").textContent.includes("Online"), "it is back");

      await press("Import an account");
      want(button("Import an account", dialog()).getAttribute("aria-disabled") === "true", "not without a file");
      const picked = new DataTransfer();
      picked.items.add(new File(["x"], hostile));
      Object.assign(dialog().querySelector("[type=file]"), { files: picked.files }).dispatchEvent(new Event("change", { bubbles: true }));
      await type(dialog().querySelector(".field input"), "three");
      stage.answers["POST /admin/import"] = () => stage.refusal(422, "INVALID_ARCHIVE", hostile);
      await press("Import an account", dialog());
      await later(300);
      want(dialog().textContent.includes("Not an instance archive") && dialog().textContent.includes(hostile) && !$("main img, dialog img"), "the fault of the file is shown");
      delete stage.answers["POST /admin/import"];
      await press("Import an account", dialog());
      await later(500);
      want(!dialog() && toasts().includes("three was imported") && all(".list .row").length === 3, "it is in the list");
    },
    async "the log is filtered, followed, and its level raised for a time"() {
      await signIn("right");
      stage.answers["GET /admin/log/lines"] = () => new Response(`time=2026-01-01T00:00:00Z level=INFO msg=fine\n{"time":"2026-01-01T00:00:01Z","level":"ERROR","msg":"${hostile.replaceAll('"', "'")}"}\n`);
      await at("log");
      want(all(".lines-of-log li").length === 2 && !$("main img"), "lines of both formats");
      all(".choice button").find((one) => one.textContent === "error").click();
      await later(100);
      want(all(".lines-of-log li").length === 1, "only errors");
      await press("Follow");
      await later(7000);
      const n = asked("GET /admin/log/lines").length;
      await press("Pause");
      await later(7000);
      want(n >= 3 && asked("GET /admin/log/lines").length === n, "it follows until it is switched off");
      await press("Change");
      want(asked("PUT /admin/log").length === 1 && $("main [role=status]").textContent.includes("It is debug until"), "the level falls back automatically");
      await press("Back to info");
      want($("main [role=status]").textContent.includes("as configured"), "or at once");
      await press("Support bundle");
      await later(300);
      want(toasts().includes("postern-support-20260518T094112Z.zip"), "the support bundle is downloaded");
    },
    async "the sandbox works without a phone"() {
      stage.answers["GET /sandbox/phones"] = () => stage.json(200, [{ phone: "4915155500137", pushName: hostile, lid: "1@lid", devices: [{ id: 1, online: true, queued: 2 }] }]);
      stage.instances[0].ownerJid = "4915155500137:3@s.whatsapp.net";
      const did = [];
      for (const phone of ["4915155500003", "4915155500137"]) stage.answers["POST /sandbox/phones/" + phone + "/act"] = (body) => { did.push(phone + JSON.stringify(body)); return stage.json(200, {}); };
      await signIn("right");
      await later(300);
      await at("sandbox");
      await press("Send");
      await later(300);
      want(did[0] === '4915155500003{"do":"text","to":"4915155500137","text":"Hello, is my order ready?"}' && $("main [role=status]").textContent.includes("one got it"), "somebody writes to an instance: " + did[0]);
      await press("Drop the line");
      await press("Goes offline");
      want(did[1] === '4915155500137{"do":"drop"}' && did[2] === '4915155500137{"do":"presence","online":false,"to":"4915155500137"}', "a phone is acted on: " + did.slice(1));
      want($(".phones").textContent.includes(hostile) && !$("main img"), "a name is shown as text");
      stage.answers["POST /sandbox/phones/4915155500137/act"] = () => stage.refusal(422, "INVALID_VALUE", hostile);
      await press("Drop the line");
      want($("main [role=alert]").textContent.includes(hostile), "a refusal is shown");
    },
    async "a revoked key keeps typed text"() {
      await signIn("right");
      await at("keys");
      await press("New key");
      await type(dialog().querySelector("input"), "half done");
      stage.signedIn = false;
      await press("Create the key", dialog());
      await later(500);
      want(all("dialog[open]").some((one) => one.textContent.includes("Sign in again")) && all("dialog[open] input").some((one) => one.value === "half done"), "both dialogs are open");
      const again = all("dialog[open]").find((one) => one.textContent.includes("Sign in again"));
      await type(again.querySelector("input"), "right");
      again.querySelector("form").requestSubmit();
      await later(500);
      want(all("dialog[open]").length === 1 && dialog().querySelector("input").value === "half done", "and work continues");
    },
    async "a key sees only the deliveries of its instances"() {
      stage.session = { operator: false, key: { id: "1", name: "support", instances: ["one"], scopes: ["read", "deliveries"] } };
      await signIn("right");
      await at("deliveries");
      await later(500);
      want(all(".links a").map((one) => one.textContent.replace(/\d.*/, "")).join() === "Overview,Instances,Chats,Deliveries", "only its pages are there: " + all(".links a").map((one) => one.textContent));
      want(asked("GET /instance/one/webhook/deliveries").length > 0 && !asked("GET /webhook/deliveries").length && !asked("GET /sandbox").length && !asked("GET /admin").length, "it requests nothing else");
      await at("keys");
      want($("main").textContent.includes("Page not found"), "and opens no other page");
    },
  };
};
