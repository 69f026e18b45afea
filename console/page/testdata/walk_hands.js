"use strict";

// Steps of the walk about what a user's hands do: focus, drafts, Back, waiting.
window.hands = ({ $, all, at, button, dialog, later, menu, press, signIn, type, want }) => ({
  async "eight pairings each close at once"() {
    await signIn("right");
    await at("instances");
    for (let i = 0; i < 8; i++) {
      let linked = false;
      stage.answers["GET /instance/one/connect"] = () => stage.json(200, { base64: stage.picture(), count: 1, expiresAt: new Date(Date.now() + 20000).toISOString() });
      stage.answers["GET /instance/one/connection/status"] = async () => {
        const answer = stage.json(200, linked ? { state: "open", connectionStatus: "ONLINE" } : { state: "connecting", connectionStatus: "QR_CODE" });
        await later(400);
        return answer;
      };
      await press("Connect one");
      await later(200);
      const socket = stage.sockets.findLast((one) => one.url.includes("qrcode") && one.readyState === 1);
      socket.hear({ event: "connection.update", data: {} });
      await later(200); // the request is on its way
      linked = true;
      socket.hear({ event: "connection.update", data: {} });
      await later(1500);
      want(!dialog(), "pairing " + i + " closes within 1.5 s");
      want(document.activeElement === $("main h1"), "the focus goes to the heading, not to " + document.activeElement.tagName);
      dialog()?.querySelector("header button").click();
      await later(100);
    }
  },
  async "focus returns after ten dialogs"() {
    await signIn("right");
    want(document.activeElement === $("main h1"), "after sign-in the heading has it");
    await at("instances");
    for (let i = 0; i < 10; i++) {
      const opener = button("New instance");
      opener.focus();
      opener.click();
      await later(100);
      want(dialog()?.contains(document.activeElement), "the dialog has it");
      if (i % 2) dialog().querySelector("header button").click();
      else dialog().dispatchEvent(new Event("cancel", { cancelable: true }));
      await later(100);
      want(document.activeElement === opener, "it returns to its opener, not to " + document.activeElement.tagName);
    }
    await press("Actions for one");
    const opener = document.querySelector("[aria-expanded=true].button");
    all("[role=menuitem]").find((one) => one.textContent.trim() === "Delete").click();
    await later(100);
    await press("Cancel", dialog());
    want(document.activeElement.getAttribute("aria-label") === "Actions for one", "from a menu it returns to its button");
    stage.tell({ type: "instanceDeleted", name: "one" });
    await later(200);
    want(document.activeElement === $("main h1"), "it goes to the heading when its row is gone");
    await at("batches/new");
    await type($(".new-batch textarea.code"), "4915112345678");
    await later(400);
    await press("Next");
    await press("File");
    want(document.activeElement.matches(".new-batch select"), "a choice leads to the field that it opened");
  },
  async "what could not be loaded is unknown, not none"() {
    stage.answers["GET /admin/samples"] = () => stage.refusal(500, "INTERNAL");
    await signIn("right");
    stage.answers["GET /instance/one/connection/status"] = () => stage.refusal(500, "INTERNAL");
    await at("instances/one");
    want($("main").textContent.includes("unknown") && !$("main").textContent.includes("No limits"), "limits are unknown");
    delete stage.answers["GET /instance/one/connection/status"];
    await press("Try again");
    await later(200);
    want(!$("main [role=alert]") && !$("main").textContent.includes("unknown"), "the error goes when the data come");
    await at("overview");
    want($("main [role=alert]"), "the error of the samples is shown");
    delete stage.answers["GET /admin/samples"];
    stage.fall();
    await later(3000);
    stage.rise();
    await later(6000);
    want($(".side .pulse").textContent === "Live" && !$("main [role=alert]"), "no old error beside Live");
  },
  async "charts leave gaps and mark the running minute"() {
    const now = Math.floor(Date.now() / 60000) * 60000;
    const sample = (minutes) => ({ at: new Date(now - minutes * 60000).toISOString(), instances: {}, sent: 2, received: 3, deliveries: 1, failed: 0, oldestPendingSeconds: 0, fileBytes: 1e6, memoryBytes: 1e6 });
    stage.answers["GET /admin/samples"] = () => stage.json(200, { interval: 60, backup: null, samples: [9, 8, 7, 2, 1, 0].map(sample) });
    await signIn("right");
    await at("overview");
    await later(300);
    const chart = $(".chart");
    want(chart.querySelector("figcaption").textContent.includes("Total of 6m") && chart.querySelector(".legend strong").textContent === "18", "the total says of what: " + chart.querySelector("figcaption").textContent);
    want(chart.querySelectorAll("svg g[style] path:not(.area)").length === 6 && chart.querySelectorAll("path.running").length === 2, "each run is a line of its own");
    want(chart.querySelector("tbody th").textContent.includes("in progress") && chart.querySelectorAll("tbody td")[8].textContent === "unknown", "the table says it too");
  },
  async "a part of a chart is shown alone"() {
    const now = Math.floor(Date.now() / 60000) * 60000;
    const sample = (minutes) => ({ at: new Date(now - minutes * 60000).toISOString(), instances: {}, sent: 2, received: 1, deliveries: 1, failed: 0, oldestPendingSeconds: 0, fileBytes: 1e6, memoryBytes: 1e6 });
    stage.answers["GET /admin/samples"] = () => stage.json(200, { interval: 60, backup: null, samples: Array.from({ length: 60 }, (_, i) => sample(59 - i)) });
    await signIn("right");
    await at("overview");
    await later(300);
    const svg = () => $(".chart svg"), total = () => $(".chart figcaption").textContent;
    const point = (type, share) => {
      const { left, top, width } = svg().getBoundingClientRect();
      const event = new PointerEvent(type, { bubbles: true, pointerType: "mouse", clientX: left + 40 + share * (width - 52), clientY: top + 50 });
      Object.defineProperty(event, "offsetX", { value: 40 + share * (width - 52) });
      svg().dispatchEvent(event);
      return later(100);
    };
    want(total().includes("Total of 1h"), "all of it at first: " + total());
    await point("pointerdown", 0.25);
    await point("pointermove", 0.5);
    want($(".chart .part"), "the part is marked");
    await point("pointerup", 0.5);
    await point("pointerleave", 0.5);
    want(/Total of 1[56]m/.test(total()) && !$(".chart .running") && all(".chart figcaption")[1].textContent.includes("Total of 1"), "both charts show it, and none of it is running: " + total());
    await press("Whole range");
    want(total().includes("Total of 1h") && !button("Whole range"), "and all of it again: " + total());
    await point("pointerdown", 0.9);
    await point("pointerup", 1);
    want($(".chart .running"), "the running minute is marked in a part too");
    await press("24 hours");
    want(!button("Whole range"), "another range is shown whole");
  },
  async "filters are saved as a view and found again"() {
    await signIn("right");
    await at("instances?state=bad&q=shop");
    await later(300);
    const palette = async (text) => {
      document.dispatchEvent(new KeyboardEvent("keydown", { key: "k", ctrlKey: true, bubbles: true }));
      await later(300);
      await type($("dialog input"), text);
      await later(300);
    };
    const entry = (text) => all("[role=option]").find((one) => one.textContent.includes(text));
    await palette("night <b>");
    entry("Save this view").click();
    await later(300);
    want($(".toasts").textContent.includes("“night <b>” is saved") && !$(".toasts b"), "it says so: " + $(".toasts").textContent);
    await at("overview");
    await palette("night");
    want(entry("night <b>").textContent.includes("Instances") && !entry("Save this view"), "it names its page: " + entry("night <b>").textContent);
    entry("night <b>").click();
    await later(500);
    want(location.hash === "#/instances?state=bad&q=shop", "it has the filters: " + location.hash);
    await palette("night");
    entry("Remove the view").click();
    await later(300);
    await palette("night");
    want(!entry("Remove the view") && entry("Save this view"), "and is removed");
    await press("Close", dialog());
  },
  async "thirty days are drawn by the hour"() {
    const hour = 3600000, now = Math.floor(Date.now() / hour) * hour;
    const sample = (at, n, more) => ({ at: new Date(at).toISOString(), instances: {}, sent: null, received: n, deliveries: 0, failed: 0, oldestPendingSeconds: 0, fileBytes: 1e6, memoryBytes: 1e6, ...more });
    const running = sample(Math.floor(Date.now() / 60000) * 60000, 7);
    // The last hour was running when it was loaded; its minutes are known.
    stage.answers["GET /admin/samples"] = () => stage.json(200, { interval: 60, backup: null, samples: [running] });
    stage.answers["GET /admin/samples?interval=3600"] = () => stage.json(200, { interval: 3600, samples: [sample(now - 719 * hour, 100), sample(now - 718 * hour, 100), sample(now - 50 * hour, 30), sample(now - hour, 20), sample(now, 5)] });
    await signIn("right");
    await at("overview");
    await press("30 days");
    await later(300);
    const chart = () => $(".chart"), sum = () => chart().querySelectorAll(".legend strong");
    want($(".card h2:not(.unseen)") && $("main").textContent.includes("Hour by hour") && chart().querySelector("figcaption").textContent.includes("Total of 5h"), "the total says of what: " + chart().querySelector("figcaption").textContent);
    want(sum()[0].textContent === "257" && sum()[1].textContent === "–", "what is unknown is no zero: " + sum()[0].textContent + " " + sum()[1].textContent);
    want(chart().querySelectorAll("svg g[style] path:not(.area)").length === 4 && chart().querySelectorAll("path.running").length === 1, "gaps are gaps: " + chart().querySelectorAll("svg g[style] path:not(.area)").length);
    const labels = [...chart().querySelectorAll("text[text-anchor=middle]")].map((one) => one.textContent);
    want(labels.length > 3 && labels.every((one) => /^[A-Z][a-z]{2} \d+$/.test(one)) && new Set(labels).size === labels.length, "the axis has days: " + labels);
    const row = (i) => chart().querySelectorAll("tbody tr")[i].textContent;
    want(row(0).includes("in progress") && row(0).includes("7") && /\d{4}.*20unknown/.test(row(1)) && row(2).endsWith("unknownunknown"), "the table has hours with their day: " + [0, 1, 2].map(row));
    stage.tell({ type: "figures", figures: { ...running, received: 11 } });
    await later(200);
    want(sum()[0].textContent === "261", "the running hour goes on: " + sum()[0].textContent);
    await press("24 hours");
    await later(200);
    want(chart().querySelector("figcaption").textContent.includes("Total of 1m") && sum()[0].textContent === "11", "and minutes are minutes");
    stage.answers["GET /admin/samples?interval=3600"] = () => stage.refusal(500, "INTERNAL");
    await press("30 days");
    await later(200);
    want($(".card [role=alert]"), "an error is shown");
  },
  async "a key with one scope each raises no alarm"() {
    for (const scope of ["read", "send", "manage", "pair", "webhook", "batch", "metrics", "media", "deliveries"]) {
      stage.session = { operator: false, key: { id: "1", name: scope, instances: ["*"], scopes: [scope], userId: "0196f0a0-0000-7000-8000-000000000001" } };
      const sockets = stage.sockets.length;
      await signIn("right");
      await later(20000);
      want(!$(".away") && !$("main > [role=alert]"), scope + " shows no alarm");
      want(stage.sockets.slice(sockets).some((one) => one.path === "/ws/console") === (scope === "read"), scope + " opens the live connection only with read");
      want(!all(".menu > button").some((one) => one.getAttribute("aria-label")?.startsWith("Actions for") && !["read"].includes(scope)), scope + " has no empty menu");
      if (scope === "read") {
        await at("instances/one");
        want(!button("Actions for one"), "a menu without entries is not shown");
      }
      await press("Sign out (" + scope + ")");
      await later(200);
    }
  },
  async "alerts follow the language"() {
    await signIn("right");
    stage.tell({ type: "instance", name: "two", instance: { ...stage.instances[1], connectionStatus: "logged_out" } });
    await at("overview");
    const before = $(".alerts").textContent;
    await press("Language");
    all("[role=menuitem]").find((one) => one.textContent.trim() === "Español").click();
    await later(300);
    want($(".alerts").textContent !== before && $(".alerts").textContent.includes("two"), "the alert is in Spanish");
    await press("Idioma");
    all("[role=menuitem]").find((one) => one.textContent.trim() === "English").click();
    await later(300);
    localStorage.clear();
  },
  async "national numbers get no green tick"() {
    await signIn("right");
    await at("batches/new");
    await type($(".new-batch textarea.code"), "0151 1234567\n0171 7654321");
    await later(400);
    want(!$(".sums .good") && $(".sums").textContent.includes("country code"), "it says what is missing: " + $(".sums").textContent);
  },
  async "typed work is kept until it is saved"() {
    await signIn("right");
    await at("instances/one/limits");
    await type($("main input"), "77");
    want($(".card .unsaved") && $(".tabs [aria-current] .unsaved"), "card and tab say unsaved");
    await at("instances/two/limits");
    want($("main input").value !== "77" && !$(".unsaved"), "another address has no draft");
    await at("instances/one/limits");
    want($("main input").value === "77" && $(".card .unsaved"), "the draft is there again");
    want(sessionStorage.getItem("postern.drafts").includes("77"), "in the tab's storage");
    await press("Save");
    await later(200);
    want(!$(".unsaved") && sessionStorage.length === 0, "saving ends it");
    await type($("main input"), "78");
    await press("Undo changes");
    want(sessionStorage.length === 0, "undoing too");
    await at("instances/one/webhook");
    await type(all("main input[type=url]")[0], "https://typed.example/");
    await press("Add a header");
    await type(all(".headers input").at(-2), "X-Secret");
    await type(all(".headers input").at(-1), "sesame");
    await at("instances/one/proxy");
    await type($("main input"), "socks5://hidden.example");
    const kept = JSON.stringify(sessionStorage);
    want(kept.includes("typed.example") && !kept.includes("sesame") && !kept.includes("hidden.example"), "no header value and no proxy is stored");
    await at("batches/new");
    await type($(".new-batch textarea.code"), "4915112345678");
    await at("overview");
    await at("batches/new");
    want($(".new-batch textarea.code").value === "4915112345678", "a batch is kept too");
    await press("Sign out (operator)");
    await later(300);
    want(sessionStorage.length === 0, "sign-out ends all");
  },
  async "Back closes a dialog and nothing else"() {
    await signIn("right");
    await at("overview");
    await at("instances");
    await press("New instance");
    await later(100);
    history.back();
    await later(200);
    want(!dialog() && location.hash === "#/instances" && $("main h1").textContent === "Instances", "Back closes it: " + location.hash);
    await press("New instance");
    await press("Cancel", dialog());
    await later(200);
    history.back();
    await later(300);
    want(location.hash === "#/overview", "a closed dialog leaves no entry: " + location.hash);
    await at("instances");
    await menu("one", "Delete");
    await type(dialog().querySelector("input"), "one");
    await press("Delete", dialog().querySelector("footer"));
    await later(300);
    want(!dialog() && location.hash === "#/instances", "an action ends it");
    await menu("two", "Connect");
    await later(200);
    want(dialog(), "the next dialog stays open");
  },
  async "a refusal for now is counted and tried again"() {
    await signIn("right");
    stage.answers["GET /instance/one/connection/status"] = () => new Response(JSON.stringify({ code: "RATE_LIMITED", messages: ["too many"] }), { status: 429, headers: { "Content-Type": "application/json", "Retry-After": "5" } });
    await at("instances/one");
    await later(1000);
    want(/Retrying in [345] seconds/.test($("main [role=alert]").textContent), "it counts: " + $("main [role=alert]").textContent);
    const before = stage.asked.length;
    delete stage.answers["GET /instance/one/connection/status"];
    await later(6000);
    want(stage.asked.slice(before).includes("GET /instance/one/connection/status") && !$("main [role=alert]"), "then it tries again");
  },
  async "a palette opens pages, instances and actions"() {
    const ask = (more) => document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { key: "k", ctrlKey: true, bubbles: true, cancelable: true, ...more }));
    ask();
    await later(100);
    want(!dialog(), "not before sign-in");
    stage.instances.push({ ...stage.instances[1], id: 3, name: "café", description: "" });
    await signIn("right");
    await at("overview");
    await at("instances");
    const opener = button("New instance");
    opener.focus();
    ask({ ctrlKey: false });
    await later(100);
    want(!dialog(), "no letter alone is a shortcut");
    want(!ask(), "the browser does not take the key too");
    await later(200);
    const box = () => dialog().querySelector("[role=combobox]"), entries = () => [...dialog().querySelectorAll("[role=option]")];
    const key = async (name) => {
      document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { key: name, bubbles: true, cancelable: true }));
      await later(200);
    };
    const active = () => document.getElementById(box().getAttribute("aria-activedescendant"));
    want(document.activeElement === box() && entries().length > 20, "it has the focus and lists all");
    want(dialog().querySelectorAll("kbd").length > 4 && dialog().textContent.includes("Ctrl K"), "it names the keys");
    want(active() === entries()[0] && active().getAttribute("aria-selected") === "true", "the first one is chosen");
    await key("ArrowDown");
    want(active() === entries()[1] && entries().filter((one) => one.getAttribute("aria-selected") === "true").length === 1, "the arrow keys choose");
    await key("ArrowUp");
    await key("ArrowUp");
    want(active() === entries().at(-1), "and go round");
    ask();
    await later(100);
    want(all("dialog[open]").length === 1 && box(), "a dialog is not replaced");
    history.back();
    await later(200);
    want(!dialog() && location.hash === "#/instances" && document.activeElement === opener, "Back closes it, and the focus returns: " + document.activeElement.textContent);
    ask();
    await later(200);
    dialog().dispatchEvent(new Event("cancel", { cancelable: true }));
    await later(200);
    want(!dialog() && document.activeElement === opener, "Escape too");
    ask();
    await later(200);
    await type(box(), "CAFE");
    await later(100);
    want(entries()[0]?.textContent.includes("café") && entries()[0].textContent.includes("Instances"), "case and accents do not count: " + entries()[0]?.textContent);
    await key("Enter");
    want(!dialog() && location.hash === "#/instances/caf%C3%A9" && document.activeElement === $("main h1"), "Enter opens it, and its heading has the focus: " + location.hash);
    history.back();
    await later(300);
    want(location.hash === "#/instances", "the palette is no entry of the history: " + location.hash);
    button("New instance").focus();
    ask();
    await later(200);
    await type(box(), "token two");
    want(entries().length === 1 && entries()[0].textContent.includes("two"), "an action of an instance is found by both names: " + entries().map((one) => one.textContent));
    await key("Enter");
    want(dialog()?.textContent.includes("token") && dialog().textContent.includes("two") && !$("[role=combobox]"), "it starts in a dialog of its own");
    await press("Cancel", dialog());
    await later(200);
    want(location.hash === "#/instances" && document.activeElement === button("New instance"), "which gives the focus back");
    ask();
    await later(200);
    await type(box(), "xyzzy");
    want(entries().length === 0 && box().getAttribute("aria-expanded") === "false" && dialog().textContent.includes("No matches"), "nothing fits");
    await key("Enter");
    want(dialog(), "then Enter does nothing");
    await type(box(), "new instance");
    entries()[0].click();
    await later(300);
    want(dialog()?.querySelector("input[maxlength='255']"), "a click starts an action");
    await press("Cancel", dialog());
    await press("Quick search (Ctrl K)");
    want(box(), "a button opens it too");
    await type(box(), "sign out");
    await key("Enter");
    await later(300);
    want($("#key-form") && !dialog(), "and it signs out");
    stage.session = { operator: false, key: { id: "1", name: "till", instances: ["one"], scopes: ["read"] } };
    await signIn("right");
    ask();
    await later(200);
    want(!/Global webhook|New instance|New batch/.test(dialog().textContent) && dialog().textContent.includes("Overview"), "a key sees what it may do");
  },
  async "password managers know the key field"() {
    const form = $("#key-form");
    want(form.querySelector("input").autocomplete === "current-password" && form.querySelector("[autocomplete=username]").hidden, "current-password beside a hidden username");
  },
});
