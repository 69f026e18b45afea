"use strict";

// Steps of the walk about receivers and the fleet.
window.hands = ({ $, all, at, button, dialog, later, menu, press, signIn, type, want }) => {
  const asked = (start) => stage.asked.filter((request) => request.startsWith(start));
  const ago = (seconds) => new Date(Date.now() - seconds * 1000).toISOString();
  const list = (records) => stage.json(200, { nextCursor: null, previousCursor: null, totalRecords: records.length, records });
  const receiver = (id, more) => ({
    id, url: "https://hooks.example.org/in", target: "webhook", endpointId: null, instanceName: "one", durable: true, state: "OK", since: ago(9000), failures: 0, lastSuccessAt: ago(60), lastAttemptAt: ago(60), lastStatus: 200,
    lastError: null, nextAttemptAt: null, waiting: 0, oldestWaitingAt: null, pausedUntil: null, day: { since: ago(86400), delivered: 120, failed: 2, averageMs: 35 }, ...more,
  });
  const failing = receiver("1:webhook", { state: "FAILING", since: "2026-01-02T03:04:05Z", failures: 6, lastStatus: 503, lastError: "<b>503</b>", nextAttemptAt: ago(-250), waiting: 60, oldestWaitingAt: ago(700) });
  const row = (id) => all(".receiver").find((one) => one.querySelector(".receiver-who").textContent.includes(id));
  const key = (...scopes) => ({ operator: false, key: { id: "1", name: "support", instances: ["*"], scopes } });
  const pick = async (box, value) => {
    box.value = value;
    box.dispatchEvent(new Event("change", { bubbles: true }));
    await later(500);
  };
  const fleet = (n) => {
    stage.instances = Array.from({ length: n }, (_, i) => ({
      id: i + 1, name: "till-" + (i + 1), description: "Till", status: "ONLINE", connectionStatus: "online", ownerJid: "4915155500" + (100 + i) + "@s.whatsapp.net", createdAt: "2026-01-01T00:00:00Z", updatedAt: "2026-01-01T00:00:00Z",
      lastReceivedAt: new Date(Date.UTC(2026, 0, 2, 0, i)).toISOString(), tags: [], troubles: [], externalAttributes: {}, Auth: null, Webhook: null,
    }));
  };
  const shown = () => all(".list .row .name a").map((one) => one.textContent).join(" ");
  const box = (name) => all(".list .row input").find((one) => one.getAttribute("aria-label") === "Choose " + name);
  const chosen = () => all(".list .row input").filter((one) => one.checked).map((one) => one.getAttribute("aria-label").slice(7)).join(" ");
  const choice = async (word, item) => {
    all(".menu > button").find((one) => one.title === word).click();
    await later(100);
    all("[role=menuitem]").find((one) => one.textContent.trim() === item).click();
    await later(200);
  };
  return {
    async "receivers are shown by origin, with their last day"() {
      stage.receivers = [failing, receiver("2:webhook", { instanceName: "two" }), receiver("2:crm", { instanceName: "two", target: "endpoint", endpointId: "crm", url: "https://crm.example.org/x" }), receiver("0:sink", { target: "consumer", endpointId: "sink", url: null, instanceName: null, waiting: 7 })];
      await signIn("right");
      await at("deliveries");
      await later(500);
      const groups = all(".receivers details");
      want(groups.map((one) => one.querySelector("strong").textContent).join() === "https://hooks.example.org,https://crm.example.org,Programs that pull events", "one group for each origin");
      want(groups[0].open && !groups[1].open, "a group is open when something of it fails");
      want(/Failing 1.*Accepts 1.*60 waiting/.test(groups[0].querySelector("summary").textContent), "its heading counts them");
      const text = row("one").textContent;
      for (const part of ["Failing", "began", "60 waiting", "the oldest", "6 failed attempts in a row", "next attempt in 4 min", "<b>503</b>", "120 accepted, 2 failed, 35 ms"]) want(text.includes(part), "the row says " + part + ": " + text);
      want(row("one").querySelectorAll("rect.zero").length === 24 && row("one").querySelector(".receiver-day svg").getAttribute("aria-label").includes("120 accepted"), "24 bars, and in words");
      want(!row("sink").querySelector(".buttons"), "what has no address has no buttons");
      stage.receivers = [];
      stage.tell({ type: "deliveries", changed: 1 });
      await later(4000);
      want(!$(".receivers"), "they follow the live connection");
    },
    async "a receiver is tested, paused, resumed and replayed"() {
      stage.receivers = [{ ...failing }];
      await signIn("right");
      await at("deliveries");
      await later(500);
      stage.answers["POST /receivers/1%3Awebhook/test"] = () => stage.json(200, { delivered: false, statusCode: 503, durationMs: 12, error: "receiver answered 503" });
      await press("Test one");
      want(row("one").querySelector("[role=status]").textContent.includes("Rejected with 503"), "the answer is in the row");
      stage.answers["POST /receivers/1%3Awebhook/test"] = () => new Response(JSON.stringify({ code: "LIMIT_REACHED", messages: ["too many"] }), { status: 429, headers: { "Content-Type": "application/json", "Retry-After": "9" } });
      await press("Test one");
      await later(500);
      want(/\d seconds/.test(row("one").querySelector("[role=alert]").textContent), "a refusal for now says for how long: " + row("one").querySelector("[role=alert]").textContent);
      await press("Pause one");
      want(dialog().textContent.includes("until "), "the dialog says when it ends");
      await pick(dialog().querySelector("select"), "86400");
      await press("Pause", dialog());
      await later(300);
      want(asked("POST /receivers/1%3Awebhook/pause").length === 1 && Math.abs(Date.parse(stage.receivers[0].pausedUntil) - Date.now() - 86400000) < 60000, "for the time chosen");
      want(/Paused.*until/.test(row("one").textContent) && !button("Pause one"), "the row says until when");
      await press("Resume one");
      await later(300);
      want(row("one").textContent.includes("Accepts") && button("Pause one"), "resume ends it");
      stage.receivers[0].since = "2026-01-02T03:04:05Z";
      await at("overview");
      await at("deliveries?instance=one");
      await later(500);
      want(asked("GET /receivers?").at(-1).includes("instance=one") && !$(".receivers details").open, "of one instance; healthy receivers are folded");
      $(".receivers details").open = true;
      let body;
      stage.answers["POST /instance/one/webhook/deliveries/replay"] = (given) => { body = given; return stage.json(202, { replayId: 3, matched: 4 }); };
      stage.answers["GET /instance/one/webhook/deliveries"] = () => stage.json(200, { nextCursor: null, previousCursor: null, totalRecords: 4, records: [] });
      await press("Replay since… for one");
      await later(1000);
      want(dialog().querySelector("[type=datetime-local]").value, "it begins where the state began");
      await press("Send 4 again", dialog());
      await later(500);
      want(body?.from === "2026-01-02T03:04:05Z" && body.target === "webhook" && location.hash.includes("replay=3") && location.hash.includes("instance=one"), "the replay is of this receiver: " + JSON.stringify(body) + location.hash);
    },
    async "receivers of one origin, and of an instance"() {
      stage.receivers = [failing, receiver("2:webhook", { instanceName: "two", url: "https://other.example.org/in" })];
      await signIn("right");
      await at("deliveries?origin=https%3A%2F%2Fother.example.org");
      await later(500);
      want(all(".receiver").length === 1 && row("two") && $(".receivers details").open, "the address names an origin");
      await press("Only https://other.example.org");
      await later(500);
      want(all(".receivers details").length === 2 && location.hash === "#/deliveries", "and all are shown again");
      await at("instances/one/webhook");
      await later(500);
      want(all(".receiver").length === 1 && row("one").textContent.includes("60 waiting"), "the webhook tab shows the instance's");
      await press("Test one");
      want(asked("POST /instance/one/webhook/receivers/1%3Awebhook/test").length === 1, "by the routes of the instance");
      stage.answers["GET /instance/two/webhook/receivers"] = () => stage.refusal(500, "INTERNAL");
      await at("instances/two/webhook");
      await later(500);
      want($(".receivers [role=alert]"), "what could not be loaded says so");
    },
    async "a key sees only the buttons that it may press"() {
      stage.receivers = [failing];
      stage.session = key("read", "deliveries");
      await signIn("right");
      await at("deliveries");
      await later(500);
      want(row("one") && !button("Test one") && !button("Pause one") && button("Replay since… for one"), "without webhook it can only replay");
      await press("Sign out (support)");
      stage.session = key("read", "webhook");
      stage.asked = [];
      await signIn("right");
      await at("instances/one/webhook");
      await later(500);
      want($("main form") && !$(".receivers") && !asked("GET /instance/one/webhook/receivers").length, "without deliveries there is no list and no error");
    },
    async "waiting and retrying are distinguished"() {
      const delivery = (id, more) => ({ id, eventId: "e" + id, event: "messages.upsert", flow: "instance", instanceId: 1, instanceName: "one", batchId: null, target: "webhook", endpointId: null, url: "https://example.org/", state: "PENDING", attemptCount: 0, lastStatus: null, lastError: null, durationMs: null, bytes: 9, requestId: "r", createdAt: ago(60), lastAttemptAt: null, nextAttemptAt: null, replayOf: null, replayable: true, ...more });
      stage.answers["GET /webhook/deliveries"] = () => list([delivery(2, { attemptCount: 6, nextAttemptAt: ago(-250) }), delivery(1)]);
      await signIn("right");
      await at("deliveries");
      await later(500);
      const [first, second] = all(".deliveries .rows .row").map((one) => one.querySelector(".cell").textContent);
      want(first === "Retryingattempt 7 · next in 4 min." || first === "Retryingattempt 7 · next in 4 min", "the next attempt: " + first);
      want(second === "Waiting", "no attempt yet: " + second);
    },
    async "the table: columns, order, rows of 40 pixels"() {
      fleet(30);
      await signIn("right");
      await at("instances");
      const heads = () => all(".row-head > span").map((one) => one.textContent).join();
      want(heads() === ",Name,State,Account,Tags,Last received,Webhook,Actions", "its columns: " + heads());
      want($(".list .row").getBoundingClientRect().height === 40, "40 pixels: " + $(".list .row").getBoundingClientRect().height);
      await choice("Columns", "Webhook");
      await choice("Columns", "Changed");
      await choice("Columns", "High rows");
      want(heads() === ",Name,State,Account,Tags,Last received,Changed,Actions" && $(".list .row").getBoundingClientRect().height === 64, "other columns, high rows: " + heads());
      await at("overview");
      await at("instances");
      want(heads().includes("Changed") && localStorage.getItem("postern.columns") === "state,account,tags,received,changed|high", "kept in the browser");
      await choice("Columns", "High rows");
      await choice("Columns", "Changed");
      await choice("Columns", "Webhook");
      want(localStorage.length === 0, "the usual ones are not stored");
      await press("Last received");
      want($(".list .row").textContent.includes("till-30") && $("[aria-sort=descending]").textContent === "Last received", "the last one first");
      scrollTo(0, 500);
      await later(300);
      want(Math.abs($(".windowed > .head").getBoundingClientRect().top) < 60, "the head stays");
    },
    async "the address filters as the API does"() {
      fleet(9);
      Object.assign(stage.instances[0], { tags: ["north", "paying"], troubles: ["INSTANCE_LOGGED_OUT"], connectionStatus: "logged_out" });
      Object.assign(stage.instances[1], { tags: ["north"], troubles: ["UNDELIVERED"] });
      Object.assign(stage.instances[2], { description: "São Paulo", troubles: ["INSTANCE_LOGGED_OUT"], connectionStatus: "logged_out" });
      await signIn("right");
      for (const [address, names] of [["trouble=INSTANCE_LOGGED_OUT", "till-1 till-3"], ["tag=north", "till-1 till-2"], ["tag=north%2Cpaying", "till-1"], ["state=LOGGED_OUT", "till-1 till-3"], ["state=bad", "till-1 till-3"],
        ["q=sao", "till-3"], ["q=NORTH", "till-1 till-2"], ["trouble=INSTANCE_LOGGED_OUT%2CUNDELIVERED&tag=north", "till-1 till-2"], ["trouble=UNDELIVERED&state=bad", ""]]) {
        await at("instances?" + address);
        want(shown() === names, address + " shows " + shown());
      }
      await at("instances?trouble=INSTANCE_LOGGED_OUT");
      stage.tell({ type: "instance", instance: { name: "till-5", troubles: ["INSTANCE_LOGGED_OUT"] } });
      await later(300);
      want(shown() === "till-1 till-3 till-5", "it follows the live connection");
      await at("instances");
      await choice("Tags", "paying");
      want(location.hash === "#/instances?tag=paying" && shown() === "till-1", "a tag from the menu");
      all(".tag").find((one) => one.textContent === "north").click();
      await later(300);
      want(shown() === "till-1 till-2", "a tag of a row");
      await menu("till-2", "Tags");
      await type(dialog().querySelector("input"), "south, ,north ,south");
      await press("Save", dialog());
      await later(300);
      want(stage.instances[1].tags.join() === "south,north" && $(".list").textContent.includes("south"), "tags are edited: " + stage.instances[1].tags);
      await menu("till-2", "Tags");
      await type(dialog().querySelector("input"), "x".repeat(41));
      await press("Save", dialog());
      await later(300);
      want(dialog()?.querySelector(".wrong")?.textContent.includes("40 characters"), "a wrong one is shown at the field");
    },
    async "rows are chosen, with shift too"() {
      fleet(9);
      await signIn("right");
      await at("instances");
      box("till-2").click();
      box("till-5").dispatchEvent(new MouseEvent("click", { bubbles: true, cancelable: true, shiftKey: true }));
      await later(200);
      want(chosen() === "till-2 till-3 till-4 till-5" && $(".many").textContent.includes("4 chosen"), "from one to the other: " + chosen());
      want($(".row-head input").indeterminate, "the head says that some are");
      await type($("[type=search]"), "till-3");
      await later(300);
      want($(".many").textContent.includes("1 chosen"), "hidden rows are not chosen");
      await type($("[type=search]"), "");
      want(chosen() === "till-3", "nor afterwards: " + chosen());
      $(".row-head input").click();
      await later(200);
      want($(".many").textContent.includes("9 chosen"), "all of them");
      await press("Choose none");
      want(!$(".many") && chosen() === "", "none");
      await press("Sign out (operator)");
      stage.session = key("read", "deliveries");
      await signIn("right");
      await at("instances");
      want($(".list .row") && !$(".list input"), "without an action there are no check boxes");
    },
    async "many at once: five at a time, what failed and why"() {
      fleet(12);
      let under = 0, most = 0, bad = true;
      for (const { name } of stage.instances) {
        stage.answers["POST /instance/" + name + "/restart"] = async () => {
          most = Math.max(most, ++under);
          await later(50);
          under--;
          if (bad && ["till-3", "till-7"].includes(name)) return stage.refusal(409, "NOT_LINKED", "the account is gone");
          return stage.json(200, { connectionStatus: "CONNECTING" });
        };
      }
      await signIn("right");
      await at("instances");
      $(".row-head input").click();
      await later(100);
      await choice("Actions", "Restart");
      want(dialog().textContent.includes("Restart 12 instances?"), "it asks first");
      await press("Restart", dialog().querySelector("footer"));
      const leaving = new Event("beforeunload", { cancelable: true });
      dispatchEvent(leaving);
      want(leaving.defaultPrevented, "leaving asks first");
      await later(1500);
      want(most === 5, "five at a time: " + most);
      want(/10 done, 2 failed/.test($(".work").textContent) && /the account is gone.*\(2\).*till-3, till-7/.test($(".work .reasons").textContent), "what failed and why: " + $(".work").textContent);
      const after = new Event("beforeunload", { cancelable: true });
      dispatchEvent(after);
      want(!after.defaultPrevented, "then leaving is free");
      bad = false;
      await press("Try the failed ones again");
      await later(500);
      want($(".work").textContent.includes("2 done") && asked("POST /instance/till-3/restart").length === 2 && asked("POST /instance/till-1/restart").length === 1, "only these again");
      await press("Close", $(".work"));
      want(!$(".work"), "it closes");
    },
    async "many at once: stop, and a refusal for now"() {
      fleet(60);
      let refused = 0;
      for (const { name } of stage.instances) {
        stage.answers["POST /instance/" + name + "/restart"] = async () => {
          if (name === "till-1" && !refused++) return new Response(JSON.stringify({ code: "LIMIT_REACHED", messages: ["too many"] }), { status: 429, headers: { "Content-Type": "application/json", "Retry-After": "8" } });
          await later(300);
          return stage.json(200, { connectionStatus: "CONNECTING" });
        };
      }
      await signIn("right");
      await at("instances");
      $(".row-head input").click();
      await later(100);
      await choice("Actions", "Restart");
      await press("Restart", dialog().querySelector("footer"));
      await later(1000);
      want(/[678] seconds/.test($(".work").textContent), "it says for how long it waits: " + $(".work").textContent);
      const before = asked("POST /instance/").length;
      await later(4000);
      want(asked("POST /instance/").length === before && before === 5, "nothing is sent until then: " + before);
      await later(4500);
      want(asked("POST /instance/").length > before, "then it goes on");
      await press("Stop");
      await later(1500);
      const text = $(".work").textContent;
      want(/\d+ done, \d+ not done/.test(text) && !text.includes("failed") && asked("POST /instance/").length < 60, "the others are not done: " + text);
    },
    async "many at once: tags, webhook, limits, log-out, deletion"() {
      fleet(3);
      stage.instances[0].tags = ["old", "north"];
      stage.instances[2].ownerJid = null;
      await signIn("right");
      await at("instances");
      const all3 = async (word) => { if (!$(".row-head input").checked) $(".row-head input").click(); await later(100); await choice("Actions", word); };
      await all3("Tags");
      await type(dialog().querySelectorAll("input")[0], "new");
      await type(dialog().querySelectorAll("input")[1], "old");
      await press("Change 3 instances", dialog());
      await later(500);
      want(stage.instances.map((one) => one.tags.join("+")).join() === "north+new,new,new", "tags are added and removed: " + stage.instances.map((one) => one.tags.join("+")));
      await all3("Webhook");
      want(button("Change 3 instances", dialog()).getAttribute("aria-disabled"), "an address is needed");
      await type(dialog().querySelector("[type=url]"), "https://hooks.example.org/all");
      await press("Change 3 instances", dialog());
      await later(500);
      want(stage.instances.every((one) => one.Webhook.url === "https://hooks.example.org/all"), "the webhook of each");
      const limits = [];
      for (const { name } of stage.instances) stage.answers["PUT /instance/" + name + "/limits"] = (body) => { limits.push(body); return stage.json(200, body); };
      await all3("Limits");
      await type(dialog().querySelectorAll("input")[0], "33");
      await type(dialog().querySelectorAll("input")[2], "-");
      await press("Change 3 instances", dialog());
      await later(500);
      want(limits.length === 3 && limits.every((one) => one.perMinute === 33 && !("perDay" in one) && one.quietHours.from === "21:00"), "only what was given changes: " + JSON.stringify(limits[0]));
      await all3("Connect");
      await later(500);
      want(/2 done, 1 failed/.test($(".work").textContent) && $(".work .reasons").textContent.includes("till-3"), "one without an account needs a phone");
      await all3("Log out");
      await press("Log out", dialog().querySelector("footer"));
      await later(500);
      want(stage.instances.every((one) => one.connectionStatus === "logged_out"), "all are logged out");
      await all3("Delete");
      await press("Delete", dialog().querySelector("footer"));
      want(dialog() && stage.instances.length === 3, "the number is to be typed");
      await type(dialog().querySelector("input"), "3");
      await press("Delete", dialog().querySelector("footer"));
      await later(500);
      want(stage.instances.length === 0 && !$(".list"), "all are deleted");
      await later(500);
    },
    async "one phone after another is paired"() {
      fleet(3);
      for (const one of stage.instances) Object.assign(one, { connectionStatus: "logged_out", ownerJid: null });
      const linked = new Set();
      for (const { name } of stage.instances) {
        stage.answers["GET /instance/" + name + "/connect"] = () => stage.json(200, { base64: stage.picture(), count: 1, expiresAt: new Date(Date.now() + 20000).toISOString() });
        stage.answers["GET /instance/" + name + "/connection/status"] = () => stage.json(200, linked.has(name) ? { state: "open", connectionStatus: "ONLINE" } : { state: "connecting", connectionStatus: "QR_CODE" });
      }
      await signIn("right");
      await at("instances");
      $(".row-head input").click();
      await later(100);
      await choice("Actions", "Pair one after another");
      await later(500);
      want(dialog().textContent.includes("1 of 3") && dialog().querySelector("h2").textContent.includes("till-1"), "the first: " + dialog().textContent);
      linked.add("till-1");
      stage.sockets.findLast((one) => one.url.includes("instance=till-1")).hear({ event: "connection.update", data: {} });
      await later(1500);
      want(dialog()?.textContent.includes("2 of 3") && dialog().querySelector("h2").textContent.includes("till-2"), "success leads to the next: " + dialog()?.textContent);
      await press("Skip", dialog());
      await later(500);
      want(dialog().textContent.includes("3 of 3"), "one is left out");
      history.back();
      await later(500);
      want(!dialog() && location.hash === "#/instances", "Back ends it");
    },
    async "the first tab of an instance is its hub"() {
      fleet(2);
      stage.answers["GET /instance/till-1/chats"] = () => list(["Ada", "Ben", "Carla", "Dora", "Emil", "Fay"].map((name, i) => ({ jid: "49151555000" + i + "@s.whatsapp.net", name, isGroup: false, lastMessage: { messageType: "conversation", content: { text: "<b>" + name }, messageTimestamp: 1767225600 } })));
      stage.answers["GET /instance/till-1/webhook/deliveries"] = () => list([{ id: 7, event: "messages.upsert", state: "PENDING", attemptCount: 2, createdAt: ago(60), url: "https://example.org" }]);
      await signIn("right");
      await at("instances/till-1");
      await later(500);
      const text = $("main").textContent;
      for (const part of ["Received1,204", "Sent731", "Events that wait0", "Failed attempts to deliver2", "Ada <b>Ada", "Retrying messages.upsert"]) want(text.includes(part), "it says " + part + ": " + text);
      want(all(".latest").length === 2 && all(".latest")[0].children.length === 5, "five chats at most");
      const links = all("main a").map((one) => one.getAttribute("href"));
      for (const link of ["#/chats/till-1", "#/deliveries?instance=till-1", "#/batches?instance=till-1", "#/chats/till-1/491515550000%40s.whatsapp.net", "#/deliveries/7?instance=till-1"]) want(links.includes(link), "it leads to " + link);
      stage.answers["GET /instance/till-1/connection/status"] = () => stage.json(200, { connectionStatus: "ONLINE" });
      await at("instances/till-2");
      await at("instances/till-1");
      await later(300);
      want($(".tiles").textContent.split("unknown").length === 5, "a missing count is unknown, not none");
      let sent;
      stage.answers["POST /instance/till-1/send/text"] = (body, headers) => { sent = { body, key: headers.get("Idempotency-Key") }; return stage.json(200, { id: 1 }); };
      await press("Send a test message");
      await type(dialog().querySelectorAll("input")[0], "+49 151 555-00003");
      await press("Send", dialog());
      await later(300);
      want(!dialog() && sent?.body.number === "4915155500003" && sent.body.textMessage.text && sent.key, "a test message is sent once: " + JSON.stringify(sent));
      await at("deliveries?instance=till-1");
      await later(500);
      want($(".crumb")?.getAttribute("href") === "#/instances/till-1", "the deliveries lead back");
      await at("batches?instance=till-1");
      await later(500);
      want($(".crumb")?.getAttribute("href") === "#/instances/till-1" && asked("GET /admin/batches?").at(-1).includes("instanceName=till-1"), "the batches too: " + asked("GET /admin/batches").at(-1));
      await at("chats/till-1");
      want(all("main a").some((one) => one.getAttribute("href") === "#/instances/till-1"), "and the chats");
      await press("Sign out (operator)");
      stage.session = key("read");
      await signIn("right");
      await at("instances/till-1");
      await later(300);
      want(all(".latest").length === 1 && !button("Send a test message") && !all("main .stack > .buttons a").some((one) => /deliveries|batches/.test(one.href)), "a key sees what it may do");
    },
    async "a trouble of batches leads to exactly these"() {
      const trouble = { id: "BATCH_STUCK", kind: "BATCH_STUCK", severity: "broken", since: ago(300), count: 1, origin: null, waiting: null, text: "x", advice: "y", link: "", subjects: [{ type: "batch", id: "00000000-0000-7000-8000-000000000004", name: "Appointments of tomorrow", since: ago(300), severity: "broken" }] };
      stage.troubles = [trouble];
      stage.answers["GET /troubles"] = () => stage.json(200, { at: ago(0), items: [trouble] });
      await signIn("right");
      await at("overview");
      await later(500);
      const link = all(".alerts a").map((one) => one.getAttribute("href")).find((one) => one.includes("batches"));
      want(link === "#/batches?trouble=BATCH_STUCK", "the overview leads there: " + link);
      await at("batches?trouble=BATCH_STUCK");
      await later(500);
      want(asked("GET /admin/batches?").at(-1).includes("status=WAITING_FOR_INSTANCE"), "it asks for what waits");
      want(all(".list.batches .row").length === 1 && $(".list.batches").textContent.includes("Appointments"), "and shows the one: " + all(".list.batches .row").length);
      stage.troubles = [];
    },
    async "drafts of actions on many are kept"() {
      fleet(3);
      await signIn("right");
      await at("instances");
      $(".row-head input").click();
      await later(100);
      await choice("Actions", "Webhook");
      await type(dialog().querySelector("[type=url]"), "https://hooks.example.org/all");
      history.back();
      await later(300);
      want(!dialog() && location.hash === "#/instances", "Back closes the dialog");
      await choice("Actions", "Webhook");
      want(dialog().querySelector("[type=url]").value === "https://hooks.example.org/all", "it is there again");
      await press("Change 3 instances", dialog());
      await later(500);
      want(sessionStorage.length === 0, "until it is used: " + JSON.stringify(sessionStorage));
      await press("New instance");
      await type(dialog().querySelector("input"), "till-9");
      await press("Cancel", dialog());
      await press("New instance");
      want(dialog().querySelector("input").value === "till-9", "a new instance too");
      await press("Cancel", dialog());
      stage.answers["GET /receivers"] = () => new Response(JSON.stringify({ code: "LIMIT_REACHED", messages: ["too many"] }), { status: 429, headers: { "Content-Type": "application/json", "Retry-After": "5" } });
      await at("deliveries");
      await later(500);
      want(/Retrying in [345] seconds/.test($(".receivers [role=alert]").textContent), "a refusal for now is counted: " + $(".receivers").textContent);
      delete stage.answers["GET /receivers"];
      await later(6000);
      want(!$(".receivers [role=alert]"), "and tried again");
    },
  };
};
