"use strict";

// Walks the page as its user does, against a server that this file plays, and
// leaves what it found wrong in the page. It runs before the page's script.
(() => {
  const $ = (selector) => document.querySelector(selector);
  const later = (ms) => new Promise((done) => setTimeout(done, ms));
  const looked = () => later(5000); // longer than two looks
  const found = [];
  const want = (ok, rule) => { if (!ok) found.push(rule); };

  // The server. A handler in answers wins over what it does by itself.
  const bytes = (text) => String.fromCharCode(...new TextEncoder().encode(text));
  const hostile = "<img src=x onerror=alert(1)><script>alert(2)</script>";
  let key, instances, answers, asked;
  const reset = () => {
    [key, answers, asked] = ["right", {}, []];
    instances = ["one", "two"].map((name, i) => ({
      id: i + 1, name, description: hostile, status: "OFFLINE", connectionStatus: "offline", ownerJid: hostile,
      Auth: { token: "token-" + name }, Webhook: { url: "https://example.org/?" + hostile, enabled: true },
    }));
  };
  const json = (status, value) => new Response(JSON.stringify(value), { status, headers: { "Content-Type": "application/json" } });
  const refusal = (status, ...messages) => json(status, { messages, code: messages[0] });
  window.fetch = async (address, init) => {
    const path = address.replace(/^\.\//, "/");
    if (path === address) throw new Error(address + " is not relative to the page");
    const request = init.method + " " + path;
    asked.push(request);
    const credential = new Headers(init.headers); // throws what fetch throws
    if (answers[request]) return answers[request]();
    if (path === "/ready") return json(200, {});
    if (credential.has("apikey") && credential.get("apikey") !== bytes(key)) return refusal(401, "no");
    if (path === "/metrics") return new Response("postern_outbox_oldest_age_seconds 7\npostern_outbox_pending 3\n");
    if (request === "GET /instance") return json(200, instances);
    return refusal(404, "the walk does not know " + request);
  };
  window.confirm = () => true;

  const shown = (selector) => $(selector).checkVisibility();
  const signIn = async (typed) => {
    $("#key").value = typed;
    $("#enter").requestSubmit();
    await later(100);
  };
  const button = (name, text) => [...$("#instances").querySelectorAll("button")]
    .find((b) => b.textContent === text && b.closest("tr").cells[0].firstChild.data === name);

  const steps = {
    async "a wrong key is refused, told and forgotten"() {
      await signIn("wrong");
      await looked();
      want(shown("#enter") && !shown("main") && $("#error").textContent.includes("API key"), "the form and the reason stay");
      want(sessionStorage.length === 0, "nothing is kept");
    },
    async "a key is the bytes of its text, whatever the letters"() {
      key = "Schlüssel-ключ";
      await signIn(key);
      want(shown("main") && !shown("#enter"), "it opens the page");
    },
    async "what the server says is text"() {
      await signIn("right");
      want($("#instances").rows.length === 2 && $("#instances").textContent.split(hostile).length === 7, "all of it is in view");
      want(!$("#instances img, #instances script, #instances svg"), "none of it is an element");
      want($("#figures").textContent === "Batch events to deliver3Oldest of them, seconds7", "figures stand in the order of their meaning");
    },
    async "the reason of a failure stays until the next attempt"() {
      await signIn("right");
      answers["POST /instance"] = () => refusal(409, "it exists");
      $("#name").value = "one";
      $("#create").requestSubmit();
      await looked();
      want($("#error").textContent === "it exists" && shown("#error"), "it stays");
      answers["POST /instance"] = () => json(201, {});
      $("#create").requestSubmit();
      await later(100);
      want(!shown("#error") && $("#name").value === "", "success clears it");
    },
    async "the focus stays where the user put it"() {
      await signIn("right");
      const connect = button("two", "Connect");
      connect.focus();
      await looked();
      want(connect.isConnected && document.activeElement === connect, "a look that finds nothing new moves nothing");
      instances = [{ ...instances[1], connectionStatus: "disconnected" }];
      await looked();
      want($("#instances").textContent.includes("disconnected") && document.activeElement === button("two", "Connect"), "a row that changed hands it on");
    },
    async "a bad token of an instance does not cost the key"() {
      await signIn("right");
      answers["GET /instance/one/connect"] = () => refusal(401, "no");
      button("one", "Connect").click();
      await later(100);
      want(shown("main") && $("#error").textContent.includes("New token"), "the page stays and tells the way out");
    },
    async "the codes end with their pairing"() {
      await signIn("right");
      let state = "connecting";
      answers["GET /instance/one/connect"] = () => json(200, { base64: "data:image/png;base64,", count: 1 });
      answers["GET /instance/one/connection/status"] = () => json(200, { state, connectionStatus: "CONNECTION_TIMEOUT" });
      button("one", "Connect").click();
      await later(100);
      want($("#scan").open, "the code is shown");
      state = "close";
      await looked();
      const before = asked.length;
      await looked();
      want(!$("#scan").open && $("#error").textContent.includes("CONNECTION_TIMEOUT"), "it is gone, and why");
      want(!asked.slice(before).includes("GET /instance/one/connect"), "no new pairing begins");
    },
    async "an account with a passkey is led through it"() {
      await signIn("right");
      const status = { state: "connecting", connectionStatus: "PAIRING", passkey: { step: "required", code: null } };
      const script = "(async()=>{await navigator.credentials.get({})})(); // " + hostile;
      answers["GET /instance/one/connect"] = () => json(200, { count: 0, alreadyConnecting: true });
      answers["GET /instance/one/connection/status"] = () => json(200, status);
      answers["GET /instance/one/connect/passkey/script"] = () => new Response(script, { headers: { "Content-Type": "text/javascript" } });
      answers["POST /instance/one/connect/passkey/assertion"] = () => refusal(422, "PASSKEY_REFUSED");
      button("one", "Connect").click();
      await looked();
      want(shown("#sign") && !shown("#image") && $("#line").value === script, "the way to the signature is shown, with the line");
      want($("#sign a").href === "https://web.whatsapp.com/" && $("#sign a").target === "_blank" && $("#sign a").rel === "noreferrer", "the site opens beside it, and learns nothing");
      const paste = async (text) => { $("#answer").value = text; $("#back").requestSubmit(); await later(100); };
      const posted = asked.length;
      await paste(script);
      want($("#trouble").textContent.includes("the line itself"), "the line is not the answer");
      await paste("<html>");
      want($("#trouble").textContent.includes("not the whole answer"), "another text is not either");
      want(!asked.slice(posted).some((request) => request.startsWith("POST")), "neither is sent");
      $("#answer").value = '{"id":"kept"}';
      await looked();
      want($("#answer").value === '{"id":"kept"}' && shown("#trouble"), "looks touch neither what was pasted nor what was told");
      await paste('{"id":"x"}');
      want($("#trouble").textContent.includes("did not accept this passkey") && shown("#sign"), "a refusal says what to do");
      answers["POST /instance/one/connect/passkey/assertion"] = () => json(202, {});
      await paste('{"a":1} {"id":"x"}');
      want($("#trouble").textContent.includes("not the whole answer"), "two texts are no answer");
      await paste("'" + '{"id":"x"}' + "'");
      want(!shown("#sign") && $("#waiting").textContent.includes("checks the answer") && $("#answer").value === "", "an answer that was taken is waited for");
      await later(25000);
      want(shown("#sign") && $("#trouble").textContent.includes("Nothing followed"), "one that leads nowhere can be given again");
      status.passkey = { step: "compare", code: hostile };
      await looked();
      want(shown("#compare") && !shown("#sign") && $("#digits").textContent === hostile && !$("#digits *"), "the code is shown, as text");
      answers["POST /instance/one/connect/passkey/confirm"] = () => json(202, {});
      $("#same").click();
      await later(100);
      want(!shown("#compare") && $("#waiting").textContent.includes("That was all"), "a confirmed code is waited for");
      Object.assign(status, { state: "open", connectionStatus: "ONLINE", passkey: null });
      await looked();
      want(!$("#scan").open && !shown("#error"), "the dialog ends with the link");
    },
    async "a passkey that is given up ends the dialog"() {
      await signIn("right");
      const status = { state: "connecting", connectionStatus: "PAIRING", passkey: { step: "compare", code: "ABCD-EFGH" } };
      answers["GET /instance/one/connect"] = () => json(200, { count: 0, alreadyConnecting: true });
      answers["GET /instance/one/connection/status"] = () => json(200, status);
      answers["DELETE /instance/one/logout"] = () => json(200, {});
      button("one", "Connect").click();
      await looked();
      $("#other").click();
      await later(100);
      want(!$("#scan").open && asked.includes("DELETE /instance/one/logout") && $("#error").textContent.includes("Nothing was linked"), "another code than the phone's links nothing");
      button("one", "Connect").click();
      await looked();
      Object.assign(status, { state: "close", connectionStatus: "CONNECTION_TIMEOUT", lastError: hostile, passkey: null });
      await looked();
      want(!$("#scan").open && $("#error").textContent.includes(hostile) && $("#error").textContent.includes("passkey"), "the end is told, and why");
    },
    async "a dialog that is closed asks for nothing more"() {
      await signIn("right");
      answers["GET /instance/one/connect"] = () => json(200, { base64: "data:image/png;base64,", count: 1 });
      answers["GET /instance/one/connection/status"] = () => json(200, { state: "connecting", connectionStatus: "PAIRING", passkey: { step: "required", code: null } });
      answers["GET /instance/one/connect/passkey/script"] = async () => { await later(3000); return new Response("line"); };
      button("one", "Connect").click();
      await looked();
      $("#close").click();
      const before = asked.length;
      await looked();
      want(!$("#scan").open && !asked.slice(before).some((request) => request.includes("/one/")), "it stays closed");
    },
    async "a server that is gone is told, and that it came back"() {
      await signIn("right");
      answers["GET /ready"] = answers["GET /instance"] = () => { throw new TypeError("Failed to fetch"); };
      await looked();
      want($("#health").textContent === "no answer" && $("#stale").textContent.includes("No answer from") && shown("main"), "the page says that it is old");
      answers = { "GET /ready": () => json(503, { reasons: ["the disk is full"] }) };
      await looked();
      want(!shown("#stale") && $("#health").textContent === "not ready: the disk is full", "it says what holds the server up");
    },
    async "what an operator should look at though all works is told"() {
      await signIn("right");
      answers["GET /ready"] = () => json(200, { status: "ready", warnings: ["the last backup failed", "<b>another</b>"] });
      await looked();
      want(shown("#warnings") && $("#warnings").textContent === "the last backup failed; <b>another</b>" && $("#health").textContent === "ready", "the warnings are shown as text");
      answers["GET /ready"] = () => json(200, { status: "ready" });
      await looked();
      want(!shown("#warnings"), "they go when they are over");
    },
    async "a forgotten key leaves nothing, whatever was under way"() {
      await signIn("right");
      answers["GET /instance"] = async () => { await later(3000); return json(200, instances); };
      await later(2500);
      $("#leave").click();
      await looked();
      want(shown("#enter") && !shown("main") && $("#instances").rows.length === 0 && $("#figures").children.length === 0, "no late answer is drawn");
      want(sessionStorage.length === 0 && localStorage.length === 0 && document.cookie === "" && location.href === location.origin + "/", "nothing is stored");
    },
  };

  window.addEventListener("load", async () => {
    for (const [name, step] of Object.entries(steps)) {
      const before = found.length;
      try { await step(); } catch (error) { found.push(String(error.stack)); }
      found.push(...found.splice(before).map((rule) => name + ": " + rule));
      if (shown("#leave")) $("#leave").click();
      reset();
      await looked();
    }
    document.body.dataset.walked = JSON.stringify({ steps: Object.keys(steps).length, found });
  });
  document.addEventListener("securitypolicyviolation", (event) => found.push("the policy forbids " + event.blockedURI));
  window.addEventListener("error", (event) => found.push("error: " + event.message));
  window.addEventListener("unhandledrejection", (event) => found.push("not caught: " + event.reason));
  reset();
})();
