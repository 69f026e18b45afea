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
      await at("deliveries");
      await later(500);
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
    async "waiting and retrying are told apart"() {
      const delivery = (id, more) => ({ id, eventId: "e" + id, event: "messages.upsert", flow: "instance", instanceId: 1, instanceName: "one", batchId: null, target: "webhook", endpointId: null, url: "https://example.org/", state: "PENDING", attemptCount: 0, lastStatus: null, lastError: null, durationMs: null, bytes: 9, requestId: "r", createdAt: ago(60), lastAttemptAt: null, nextAttemptAt: null, replayOf: null, replayable: true, ...more });
      stage.answers["GET /webhook/deliveries"] = () => list([delivery(2, { attemptCount: 6, nextAttemptAt: ago(-250) }), delivery(1)]);
      await signIn("right");
      await at("deliveries");
      await later(500);
      const [first, second] = all(".deliveries .rows .row").map((one) => one.querySelector(".cell").textContent);
      want(first === "Retryingattempt 7 · next in 4 min." || first === "Retryingattempt 7 · next in 4 min", "the next attempt: " + first);
      want(second === "Waiting", "no attempt yet: " + second);
    },
  };
};
