"use strict";

// Uses the page like a user, on the stage, and writes the failures into the page. The
// browser runs in virtual time.
(() => {
  const $ = (selector) => document.querySelector(selector);
  const all = (selector) => [...document.querySelectorAll(selector)];
  const later = (ms) => new Promise((done) => setTimeout(done, ms));
  const found = [];
  const want = (ok, rule) => { if (!ok) found.push(rule); };
  const hostile = "<img src=x onerror=alert(1)><script>alert(2)</scr" + "ipt>";
  const bytes = (text) => String.fromCharCode(...new TextEncoder().encode(text));
  const type = async (box, text) => {
    box.value = text;
    box.dispatchEvent(new Event("input", { bubbles: true }));
    await later(100);
  };
  const button = (word, within = document) => [...within.querySelectorAll("button")].find((one) => (one.getAttribute("aria-label") || one.textContent.trim()) === word);
  const press = async (word, within) => {
    const one = button(word, within);
    want(one, "there is a button " + word);
    one?.click();
    await later(100);
  };
  const dialog = () => $("dialog[open]");
  const signIn = async (key) => {
    await type($("#key-form input"), key);
    $("#key-form").requestSubmit();
    await later(400);
  };
  const at = async (place) => {
    location.hash = "#/" + place;
    await later(300);
  };
  const menu = async (name, word) => {
    await press("Actions for " + name);
    all("[role=menuitem]").find((one) => one.textContent.trim() === word)?.click();
    await later(100);
  };
  const pairing = (connect, status) => {
    stage.answers["GET /instance/one/connect"] = () => stage.json(200, connect);
    stage.answers["GET /instance/one/connection/status"] = () => stage.json(200, status);
  };
  const looked = () => later(11000); // longer than a poll

  // The initial stage: two instances with hostile texts.
  const reset = () => {
    Object.assign(stage, { answers: {}, asked: [], key: "right", down: false, session: { operator: true } });
    stage.instances = ["one", "two"].map((name, i) => ({
      id: i + 1, name, description: hostile, status: "OFFLINE", connectionStatus: "connection_timeout", ownerJid: hostile, createdAt: "2026-01-01T00:00:00Z", updatedAt: "2026-01-01T00:00:00Z",
      Auth: { token: "token-" + name }, Webhook: { url: "https://example.org/?" + hostile, enabled: true, events: {} },
    }));
  };

  const steps = {
    async "a wrong key is refused, shown as wrong and cleared"() {
      await signIn("wrong");
      want($("#key-form") && $("[role=alert]").textContent.includes("rejected this key"), "the form and the error stay");
      want($("#key-form input").getAttribute("aria-invalid") === "true" && document.activeElement === $("#key-form input"), "the field is marked as invalid");
      want(sessionStorage.length === 0 && document.cookie === "", "nothing is stored");
    },
    async "a key may have any letters"() {
      stage.key = "Schlüssel-ключ";
      await signIn(stage.key);
      want($("main h1") && !$("#key-form"), "it opens the page");
      want(bytes(stage.key) !== stage.key, "the walk tries other letters");
    },
    async "answers are shown as text"() {
      await signIn("right");
      await at("instances");
      want(all(".list .row").length === 2 && $(".list").textContent.split(hostile).length >= 5, "all of it is in view");
      want(!$("main img, main script"), "none of it is an element");
      await at("instances/one");
      want($("main").textContent.includes(hostile) && !$("main img, main script"), "nor on the page of the instance");
      want(!JSON.stringify(stage.asked).includes("token-") && !document.documentElement.outerHTML.includes("token-one"), "no token is in the page");
    },
    async "an error stays until the next attempt"() {
      await signIn("right");
      await at("instances");
      await press("New instance");
      await type(dialog().querySelector("input"), "one");
      await press("New instance", dialog().querySelector("footer"));
      await later(3000);
      want(dialog().querySelector("[role=alert]").textContent.includes("with this name"), "it stays, beside the field");
      await type(dialog().querySelector("input"), "three");
      dialog().querySelector("input[type=checkbox]").click();
      await later(100);
      await press("New instance", dialog().querySelector("footer"));
      await later(500);
      want(!dialog() && $(".list").textContent.includes("three"), "success closes the dialog and shows the instance");
    },
    async "the focus stays where the user put it"() {
      await signIn("right");
      await at("instances");
      const connect = button("Connect two");
      connect.focus();
      stage.tell({ type: "instance", name: "one", instance: { ...stage.instances[0], connectionStatus: "online" } });
      await later(500);
      want(connect.isConnected && document.activeElement === connect && $(".list").textContent.includes("Online"), "a change of another row does not move the focus");
      stage.tell({ type: "instance", name: "two", instance: { ...stage.instances[1], connectionStatus: "disconnected" } });
      stage.tell({ type: "instanceDeleted", name: "one" });
      await later(500);
      want($(".list").textContent.includes("Disconnected") && all(".list .row").length === 1, "a change is drawn at once");
    },
    async "unsaved work survives the end of a session"() {
      await signIn("right");
      await at("instances/one/limits");
      await later(300);
      await type($("main input"), "77");
      stage.signedIn = false;
      await press("Save");
      await later(500);
      want(dialog()?.textContent.includes("Sign in again") && $("main input").value === "77", "the page stays behind the dialog");
      await type(dialog().querySelector("input"), "right");
      dialog().querySelector("form").requestSubmit();
      await later(500);
      want(!dialog() && $("main input").value === "77", "and continues after signing in");
    },
    async "codes end with the pairing"() {
      await signIn("right");
      await at("instances");
      let state = "connecting";
      stage.answers["GET /instance/one/connect"] = () => stage.json(200, { base64: stage.picture(), count: 1, expiresAt: new Date(Date.now() + 20000).toISOString() });
      stage.answers["GET /instance/one/connection/status"] = () => stage.json(200, { state, connectionStatus: "CONNECTION_TIMEOUT" });
      await press("Connect one");
      await later(300);
      want(dialog()?.querySelector("img").src.startsWith("data:image/png") && /valid for \d+ seconds/.test(dialog().textContent), "the code and its validity are shown");
      stage.sockets.at(-1).hear({ event: "qrcode.updated", data: { count: 2, base64: "data:image/png;base64,AA==", expiresAt: new Date(Date.now() + 5000).toISOString() } });
      await later(100);
      want(dialog().querySelector("img").src.endsWith("AA=="), "the next code is shown automatically");
      state = "close";
      await looked();
      const before = stage.asked.length;
      await looked();
      want(!dialog().querySelector("img") && dialog().textContent.includes("CONNECTION_TIMEOUT"), "the code disappears with a reason");
      want(!stage.asked.slice(before).some((request) => request.includes("/connect")), "no new pairing begins");
    },
    async "a code is typed instead of scanned"() {
      await signIn("right");
      await at("instances");
      pairing({ base64: stage.picture(), count: 1 }, { state: "connecting", connectionStatus: "QR_CODE" });
      await press("Connect one");
      await press("No camera? Type a code");
      await type(dialog().querySelector("input"), "+49 151 1234");
      stage.answers["POST /instance/one/connect/code"] = (body) => stage.json(200, { code: body.phoneNumber === "+49 151 1234" ? "ABCD-EFGH" : hostile });
      await later(50);
      await press("Get a code");
      want($(".digits").textContent === "ABCD-EFGH" && button("Copy"), "the code is shown for copying");
      await looked();
      want($(".digits")?.textContent === "ABCD-EFGH", "polls keep it");
      stage.answers["GET /instance/one/connection/status"] = () => stage.json(200, { state: "open", connectionStatus: "ONLINE" });
      await looked();
      want(!dialog(), "the dialog ends with the link");
    },
    async "pairing with a passkey"() {
      await signIn("right");
      await at("instances");
      const status = { state: "connecting", connectionStatus: "PAIRING", passkey: { step: "required", code: null } };
      const script = "(async()=>{await navigator.credentials.get({})})(); // " + hostile;
      pairing({ count: 0, alreadyConnecting: true }, status);
      stage.answers["GET /instance/one/connect/passkey/script"] = () => new Response(script, { headers: { "Content-Type": "text/javascript" } });
      stage.answers["POST /instance/one/connect/passkey/assertion"] = () => stage.refusal(422, "PASSKEY_REFUSED");
      await press("Connect one");
      await looked();
      const sign = () => $(".sign"), notice = () => dialog().querySelector("[role=alert]")?.textContent || "";
      want(sign() && !dialog().querySelector("img") && sign().querySelector("textarea[readonly]").value === script, "the steps to the signature are shown, with the line");
      const link = sign().querySelector("a");
      want(link.href === "https://web.whatsapp.com/" && link.target === "_blank" && link.rel === "noreferrer", "the site opens in a new tab without a referrer");
      const box = () => sign().querySelector("textarea:not([readonly])");
      const paste = async (text) => {
        await type(box(), text);
        await later(50);
        sign().querySelector("form").requestSubmit();
        await later(100);
      };
      const posted = stage.asked.length;
      await paste(script);
      want(notice().includes("the line itself"), "the line is rejected as an answer");
      await paste("<html>");
      want(notice().includes("not the whole answer"), "another text is rejected");
      want(!stage.asked.slice(posted).some((request) => request.startsWith("POST")), "neither is sent");
      await type(box(), '{"id":"kept"}');
      await looked();
      want(box().value === '{"id":"kept"}' && notice(), "a poll keeps the pasted text and the notice");
      await paste('{"id":"x"}');
      want(notice().includes("did not accept this passkey") && sign(), "a refusal says what to do");
      stage.answers["POST /instance/one/connect/passkey/assertion"] = () => stage.json(202, {});
      await paste('{"a":1} {"id":"x"}');
      want(notice().includes("not the whole answer"), "two texts are rejected");
      await paste("'" + '{"id":"x"}' + "'");
      want(!sign() && dialog().textContent.includes("checks the answer"), "an accepted answer shows progress");
      await later(35000);
      want(sign() && notice().includes("Nothing followed") && box().value === "", "an answer without effect can be repeated");
      status.passkey = { step: "compare", code: hostile };
      await looked();
      want(!sign() && $(".digits").textContent === hostile && !$(".digits *"), "the code is shown, as text");
      stage.answers["POST /instance/one/connect/passkey/confirm"] = () => stage.json(202, {});
      await press("Yes, it is the same");
      want(!$(".digits") && dialog().textContent.includes("Done. WhatsApp"), "a confirmed code shows progress");
      Object.assign(status, { state: "open", connectionStatus: "ONLINE", passkey: null });
      await looked();
      want(!dialog(), "the dialog ends with the link");
    },
    async "a rejected or expired passkey ends the pairing"() {
      await signIn("right");
      await at("instances");
      const status = { state: "connecting", connectionStatus: "PAIRING", passkey: { step: "compare", code: "ABCD-EFGH" } };
      pairing({ count: 0, alreadyConnecting: true }, status);
      await press("Connect one");
      await looked();
      await press("No, it is another");
      want(stage.asked.includes("DELETE /instance/one/logout") && dialog().textContent.includes("Nothing was linked"), "a different code links nothing");
      await press("New code");
      await looked();
      Object.assign(status, { state: "close", connectionStatus: "CONNECTION_TIMEOUT", lastError: hostile, passkey: null });
      await looked();
      want(dialog().textContent.includes(hostile) && dialog().textContent.includes("passkey"), "the end and its reason are shown");
    },
    async "a closed dialog makes no calls"() {
      await signIn("right");
      await at("instances");
      pairing({ base64: stage.picture(), count: 1 }, { state: "connecting", connectionStatus: "PAIRING", passkey: { step: "required", code: null } });
      stage.answers["GET /instance/one/connect/passkey/script"] = async () => { await later(3000); return new Response("line"); };
      await press("Connect one");
      await looked();
      await press("Close", dialog());
      const before = stage.asked.length;
      await looked();
      want(!dialog() && !stage.asked.slice(before).some((request) => request.includes("/one/")), "it stays closed");
    },
    async "a lost server is shown, and its return"() {
      await signIn("right");
      await at("instances");
      stage.fall();
      await later(4000);
      want($(".away")?.textContent.includes("Not connected") && all(".list .row").length === 2, "the page is marked as outdated and stays");
      stage.instances = [{ ...stage.instances[1], connectionStatus: "online" }];
      stage.rise();
      await later(20000);
      want(!$(".away") && all(".list .row").length === 1 && $(".list").textContent.includes("Online"), "it reloads after the reconnect");
    },
    async "warnings are shown while all works"() {
      stage.answers["GET /ready"] = () => stage.json(200, { status: "ready", warnings: ["the last backup failed", "<b>another</b>"] });
      await signIn("right");
      await at("overview");
      await later(61000);
      want($(".alerts").textContent.includes("the last backup failed") && $(".alerts").textContent.includes("<b>another</b>") && !$(".alerts b"), "the warnings are shown as text");
      stage.answers["GET /ready"] = () => stage.json(503, { status: "not ready", reasons: ["the disk is full"] });
      await later(61000);
      want($("h1").textContent.includes("is not ready") && $(".alerts").textContent.includes("the disk is full"), "reasons come before warnings");
      stage.answers["GET /ready"] = () => stage.json(200, { status: "ready" });
      await later(61000);
      want(!$(".alerts") && $("h1").textContent.includes("No problems"), "resolved warnings disappear");
    },
    async "a dead receiver is on the overview, and no trouble hides"() {
      const trouble = { id: "RECEIVER_FAILING https://hooks.example.org:443", kind: "RECEIVER_FAILING", severity: "broken", since: new Date(Date.now() - 12 * 60000).toISOString(), count: 1, subjects: [{ type: "receiver", id: "1:webhook", name: "one", severity: "broken" }], origin: "https://hooks.example.org:443", waiting: 60 };
      stage.instances = [{ ...stage.instances[0], connectionStatus: "online", troubles: [] }];
      await signIn("right");
      await at("overview");
      want($("h1").textContent.includes("No problems") && !$(".alerts"), "nothing is wrong: " + $("h1").textContent);
      stage.tell({ type: "troubles", items: [trouble] });
      await later(500);
      want($("h1").textContent.includes("hooks.example.org has accepted no events for 12m"), "the sentence says where and since when: " + $("h1").textContent);
      want($(".alerts").textContent.includes("60 events wait.") && $(".alerts").textContent.includes("test it"), "the alert says how much waits and what to do: " + $(".alerts").textContent);
      want(all("nav a").find((one) => one.href.includes("deliveries")).textContent.includes("1"), "the page of deliveries has a mark");
      const batches = { ...trouble, id: "BATCH_STUCK", kind: "BATCH_STUCK", count: 2, subjects: [{ type: "batch", id: "b", name: "spring", severity: "broken" }], origin: null, waiting: 0 };
      stage.tell({ type: "troubles", items: [trouble, { ...trouble, id: "RECEIVER_FAILING https://b.example:443", origin: "https://b.example:443" }, batches] });
      await later(500);
      want($("h1").textContent === "Needs attention: 2 receivers and 2 batches", "several are counted: " + $("h1").textContent);
      stage.tell({ type: "troubles", items: [{ id: "WARNING", kind: "WARNING", severity: "attention", since: trouble.since, count: 1, subjects: [{ type: "program", id: "", name: "the clock is wrong", severity: "attention" }], origin: null, waiting: 0 }] });
      await later(500);
      want(!$("h1").textContent.includes("No problems"), "a warning is no silence: " + $("h1").textContent);
      stage.tell({ type: "troubles", items: [] });
      await later(500);
      want($("h1").textContent.includes("No problems") && !$(".alerts"), "what has ended is gone");
      stage.answers["GET /troubles"] = () => stage.json(500, { code: "INTERNAL_ERROR", messages: ["broken"] });
      stage.fall();
      await later(1000);
      stage.rise();
      await later(20000);
      want($(".alerts")?.textContent.includes("unknown"), "what could not be loaded is unknown: " + $("main").textContent);
    },
    async "an answer that is older than a message changes nothing"() {
      const before = stage.instances;
      stage.instances = [{ ...stage.instances[0], id: 1, name: "a", connectionStatus: "online", troubles: [] }];
      stage.answers["POST /instance/a/restart"] = () => { // the account is online before the answer comes
        stage.tell({ type: "instance", instance: { name: "a", connectionStatus: "online" } });
        return new Promise((done) => setTimeout(() => done(stage.json(200, { connectionStatus: "connecting" })), 200));
      };
      await signIn("right");
      await at("instances");
      $(".list .row .menu button").click();
      await later(300);
      all("[role=menuitem]").find((one) => one.textContent.includes("Restart")).click();
      await later(300);
      all("dialog button").find((one) => one.textContent.trim() === "Restart").click();
      await later(1000);
      want(stage.asked.includes("POST /instance/a/restart") && $(".list .row").textContent.includes("Online"), "it is online: " + $(".list .row").textContent);
      stage.instances = before;
    },
    async "an instance in trouble is listed once, and its link lists exactly these"() {
      const of = (kind, names) => ({ id: kind, kind, severity: "broken", since: new Date(Date.now() - 60000).toISOString(), count: names.length, subjects: names.slice(0, 20).map((name, i) => ({ type: "instance", id: name, name, severity: "broken", since: new Date(Date.now() - 60000 * (i + 1)).toISOString() })), origin: null, waiting: 0 });
      const before = stage.instances;
      const made = (name, connectionStatus, ...troubles) => ({ ...stage.instances[0], id: name.length, name, connectionStatus, troubles });
      stage.instances = [made("a", "temporary_ban", "INSTANCE_RESTRICTED"), made("aa", "temporary_ban", "INSTANCE_RESTRICTED"), made("aaa", "logged_out", "INSTANCE_LOGGED_OUT"), made("aaaa", "online", "UNDELIVERED")];
      stage.troubles = [of("INSTANCE_RESTRICTED", ["a", "aa"]), of("INSTANCE_LOGGED_OUT", ["aaa"]), of("UNDELIVERED", Array.from({ length: 5 }, (_, i) => "shop-" + i))];
      await signIn("right");
      await at("overview");
      want(all(".alerts li").length === 3, "each trouble once: " + $(".alerts").textContent);
      const banned = all(".alerts li").find((one) => one.textContent.includes("2 instances"));
      want(banned.textContent.includes("a and aa · 2m"), "who, and since when: " + banned.textContent);
      want(banned.querySelector("a").href.endsWith("#/instances?trouble=INSTANCE_RESTRICTED"), "the link lists these: " + banned.innerHTML);
      want($(".alerts").textContent.includes("shop-2, and 2 more"), "names end in words: " + $(".alerts").textContent);
      stage.tell({ type: "instance", instance: { name: "aa", connectionStatus: "online" } });
      await later(300);
      want(all(".alerts li").length === 4 && $(".alerts").textContent.includes("Restricted by WhatsApp"), "one that is online has no state that is listed: " + $(".alerts").textContent);
      [stage.instances, stage.troubles] = [before, []];
    },
    async "the overview says which nodes stand by, and what is missing"() {
      const node = (name, role, behindMs = 0) => ({ node: name, role, behindMs, behindVersions: behindMs ? 7 : 0, differs: [] });
      const cell = { node: "db-2", nodes: [node("db-1", "standby", 200), node("db-2", "owner"), node("db-3", "gone")], engine: { synchronous: ["copy"], acceptLoss: false } };
      stage.answers["GET /ready"] = () => stage.json(200, { status: "ready", role: "owner" });
      stage.answers["GET /admin/cluster"] = () => stage.json(200, cell);
      await signIn("right");
      const look = async () => { // the page asks again
        await at("instances");
        await at("overview");
        await later(500);
      };
      await look();
      want($(".nodes").textContent === "This is db-2; db-1 stands by, 0.2 s behind." && !$(".alerts"), "one sentence has the nodes: " + $(".nodes").textContent);
      const missing = async (change, title) => {
        Object.assign(cell, change);
        await look();
        want([...document.querySelectorAll(".alerts .bad")].map((one) => one.querySelector("strong").textContent).join() === title, "missing is in red: " + title + ": " + $(".alerts")?.textContent);
      };
      await missing({ nodes: [node("db-1", "standby", 61200), node("db-2", "owner"), node("db-3", "standby", 100)] }, "db-1: 61.2 s behind");
      want($(".nodes").textContent === "This is db-2; db-1 and db-3 stand by, at most 61.2 s behind.", "several are in the sentence");
      await missing({ nodes: [node("db-1", "gone"), node("db-2", "owner")] }, "No node stands by");
      want($(".nodes").textContent === "This is db-2; no other node stands by.", "the sentence has none");
      cell.nodes = [node("db-1", "standby")];
      await missing({ engine: { synchronous: [], acceptLoss: false } }, "The database keeps no second copy");
      await missing({ engine: { synchronous: ["copy"], acceptLoss: true } }, "store.accept_loss is set");
      await missing({ engine: null }, "The database does not answer");
      stage.answers["GET /ready"] = () => stage.json(503, { status: "not ready", role: "standby", code: "STANDBY", reasons: ["this node is a standby"] });
      await look();
      const asked = stage.asked.length;
      await later(16000);
      want($(".nodes").textContent.includes("through a standby") && !$(".alerts") && !stage.asked.slice(asked).includes("GET /admin/cluster"), "a standby is no fault, and is not asked");
      delete stage.answers["GET /ready"];
      await look();
      want(!$(".nodes"), "a program alone has no such sentence");
    },
    async "a key sees only the pages of its scopes"() {
      stage.session = { operator: false, key: { id: "1", name: "support", instances: ["one"], scopes: ["read"] } };
      await signIn("right");
      want(all(".links a").map((one) => one.textContent).join() === "Overview,Instances,Chats" && !$(".chart"), "only its pages are listed");
      await at("instances/one");
      want(all(".tabs a").map((one) => one.textContent).join() === "State,Events" && !button("Connect one"), "and only its actions");
    },
    async "signing out leaves no data, even with pending calls"() {
      await signIn("right");
      await at("instances");
      stage.answers["GET /instance/one/connection/status"] = async () => { await later(3000); return stage.json(200, { lastError: "late" }); };
      await at("instances/one");
      await press("Sign out (operator)");
      await later(5000);
      want($("#key-form") && !document.body.textContent.includes("late") && !document.body.textContent.includes(hostile), "no late answer is drawn");
      want(sessionStorage.length === 0 && localStorage.length === 0 && document.cookie === "", "nothing is stored");
    },
  };

  const tools = { $, all, at, button, dialog, hostile, later, menu, pairing, press, signIn, type, want };
  const walked = window.hands ? hands(tools) : Object.assign(steps, window.further(tools));
  window.addEventListener("load", async () => {
    await later(1000);
    for (const [name, step] of Object.entries(walked)) {
      const before = found.length;
      try { await step(); } catch (error) { found.push(String(error.stack)); }
      found.push(...found.splice(before).map((rule) => name + ": " + rule));
      dialog()?.querySelector("header button").click();
      await later(100);
      all("button").find((one) => (one.getAttribute("aria-label") || "").startsWith("Sign out"))?.click();
      reset();
      stage.signedIn = false;
      location.hash = "#/";
      await later(3000);
    }
    document.body.dataset.walked = JSON.stringify({ steps: Object.keys(walked).length, found });
  });
  document.addEventListener("securitypolicyviolation", (event) => found.push("the policy forbids " + event.blockedURI));
  window.addEventListener("error", (event) => found.push("error: " + event.message + (event.error?.stack || "")));
  window.addEventListener("unhandledrejection", (event) => found.push("not caught: " + event.reason));
  stage.signedIn = false;
  reset();
})();
