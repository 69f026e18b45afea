"use strict";

// Uses chats and batches like a user, on the stage, in real time: scrolling needs frames.
(() => {
  const $ = (selector) => document.querySelector(selector);
  const all = (selector) => [...document.querySelectorAll(selector)];
  const later = (ms) => new Promise((done) => setTimeout(done, ms));
  const found = [];
  const want = (ok, rule) => { if (!ok) found.push(rule); };
  const ada = "4915112345678@s.whatsapp.net", user = "0196f0a0-0000-7000-8000-000000000001";
  const word = (one) => one.getAttribute("aria-label") || one.textContent.trim();
  const press = async (text, within = document) => {
    const one = [...within.querySelectorAll("button")].find((other) => word(other) === text);
    want(one, "there is a button " + text);
    one?.click();
    await later(300);
  };
  const type = async (selector, text) => {
    await stage.type(selector, text);
    await later(400);
  };
  const at = async (place) => {
    location.hash = "#/" + place;
    await stage.settled();
    await later(150);
  };
  const bubbles = () => all(".talk .bubble").map((one) => one.textContent);
  const last = () => all(".talk .message").at(-1);
  const feed = () => stage.sockets.filter((one) => one.url.includes("messages.upsert") && one.readyState === 1).at(-1);
  const saved = [];
  const make = URL.createObjectURL;
  URL.createObjectURL = (blob) => { saved.push(blob); return make.call(URL, blob); };

  const steps = {
    async "scrolling loads older messages and keeps few pages"() {
      await at("chats/shop/" + ada);
      const box = $(".talk-box");
      want(box.scrollHeight - box.scrollTop - box.clientHeight < 5 && last().textContent.includes("We close at seven."), "it begins at the end");
      for (let i = 0; i < 9; i++) {
        box.scrollTop = 0;
        await later(400);
      }
      want(bubbles()[0].includes("(1)") && all(".talk .message").length <= 260, "one comes to the first message, and not all are kept: " + all(".talk .message").length);
      for (let i = 0; i < 12; i++) {
        box.scrollTop = box.scrollHeight;
        await later(400);
      }
      want(last().textContent.includes("We close at seven."), "and back to the last");
    },
    async "a voice message is recorded, heard and sent"() {
      await at("chats/shop/" + ada);
      const sent = [];
      stage.answers["POST /instance/shop/send/ptt-file"] = (body) => {
        sent.push(body);
        return stage.json(200, { ...stage.text(""), keyFromMe: true, messageType: "audioMessage" });
      };
      await press("Record a voice message");
      for (let i = 0; i < 100 && !$(".recording"); i++) await later(100);
      want($(".recording"), "the page says that it records");
      await later(700);
      await press("Done");
      for (let i = 0; i < 100 && !$(".tray audio"); i++) await later(100);
      want($(".tray audio")?.src.startsWith("blob:") && !$(".recording") && !$(".talk .notice"), "what was recorded is beside the field");
      await press("Send");
      for (let i = 0; i < 100 && !sent.length; i++) await later(100);
      await later(300);
      want(sent.length === 1 && !$(".tray"), "and is sent once: " + sent.length);
      delete stage.answers["POST /instance/shop/send/ptt-file"];
    },
    async "messages and their changes are shown live"() {
      await at("chats/shop/" + ada);
      const message = { ...stage.text("Are you there? <b>now</b>"), keyFromMe: false, pushName: "Ada Lovelace" };
      feed().hear({ event: "messages.upsert", data: message });
      await later(300);
      want(last().textContent.includes("<b>now</b>") && !$(".talk b") && $(".chats-list .chat").textContent.includes("Are you there?"), "in the chat and in the list, as text");
      feed().hear({ event: "messages.upsert", data: { ...stage.text(""), messageType: "reactionMessage", keyFromMe: false, content: { key: { id: message.keyId }, text: "🎉" } } });
      await later(300);
      want(last().querySelector(".reactions")?.textContent.includes("🎉"), "a reaction is shown at its message");
      const mine = { ...stage.text("I am."), keyFromMe: true };
      feed().hear({ event: "send.message", data: mine });
      feed().hear({ event: "messages.update", data: { messageId: mine.id, status: "read", dateTime: "2026-01-01T00:00:00Z" } });
      await later(300);
      want(last().querySelector(".tick").textContent === "read", "the delivery status is shown");
      feed().hear({ event: "messages.upsert", data: { ...stage.text(""), messageType: "protocolMessage", content: {}, metadata: { revoked: mine.keyId } } });
      await later(300);
      want(last().textContent.includes("deleted for everyone") && !last().textContent.includes("I am."), "a deleted one is not shown");
    },
    async "links are links, of http and https only"() {
      await at("chats/shop/" + ada);
      for (const words of ["See https://example.org/a?b=1, or (http://example.net/x).", "javascript:alert(1) ftp://example.org https:// data:text/html,x", 'https://e.example/"onmouseover=alert(1)'])
        feed().hear({ event: "messages.upsert", data: stage.text(words) });
      await later(400);
      const [first, second, third] = all(".talk .message").slice(-3).map((one) => [...one.querySelectorAll(".text a")]);
      want(first.map((a) => a.getAttribute("href")).join(" ") === "https://example.org/a?b=1 http://example.net/x", "without the punctuation after them: " + first.map((a) => a.href));
      want(first.every((a) => a.rel.includes("noopener") && a.target === "_blank"), "they open beside the page, without a way back");
      want(second.length === 0 && third[0].getAttribute("href") === "https://e.example/" && !document.querySelector("[onmouseover]"), "nothing else is one");
      want(all(".talk .message").at(-3).querySelector(".text").textContent === "See https://example.org/a?b=1, or (http://example.net/x).", "the text stays as it is");
      want($(".talk-box").getAttribute("role") === "log", "the messages are a log");
    },
    async "what this browser has not shown is unread"() {
      await at("chats/shop/" + ada);
      const jid = "351912001000@s.whatsapp.net", row = () => all(".chats-list .chat").find((one) => one.href.includes("351912001000"));
      const future = Math.floor(Date.now() / 1000) + 60;
      feed().hear({ event: "messages.upsert", data: { ...stage.text("Hello?"), keyRemoteJid: jid, messageTimestamp: future } });
      feed().hear({ event: "messages.upsert", data: { ...stage.text("I am here."), messageTimestamp: future } });
      await later(400);
      want(row().matches(".unread") && row().textContent.includes("unread"), "a message of another chat is unread");
      want(all(".chat.unread").length === 1, "the open chat and older messages are not: " + all(".chat.unread").length);
      await at("chats/shop/" + jid);
      want(!row().matches(".unread"), "opening it is reading it");
      await at("chats/shop/" + ada);
      want(!row().matches(".unread"), "and it stays so");
      feed().hear({ event: "send.message", data: { ...stage.text("Mine"), keyFromMe: true, keyRemoteJid: jid, messageTimestamp: future + 5 } });
      await later(400);
      want(!row().matches(".unread"), "an own message is not unread");
      const kept = JSON.stringify(localStorage);
      want(kept.includes("seen") && !kept.includes("351912001000") && !kept.includes("shop"), "what is kept names no account: " + kept);
    },
    async "pictures and players come from the route of the message"() {
      await at("chats/shop/" + ada);
      const revoked = [], revoke = URL.revokeObjectURL;
      URL.revokeObjectURL = (url) => { revoked.push(url); revoke.call(URL, url); };
      let pending = 1;
      const before = stage.asked.length, photo = stage.talks.get(ada).find((one) => one.messageType === "imageMessage");
      stage.answers["GET /instance/shop/messages/" + photo.id + "/media"] = () => pending-- > 0 ? new Response(JSON.stringify({ code: "MEDIA_PENDING", messages: ["later"] }), { status: 503, headers: { "Content-Type": "application/json", "Retry-After": "1" } }) : null;
      const bubble = () => all(".talk .message").find((one) => one.dataset.id === String(photo.id));
      await press("Show", bubble());
      await later(1600);
      const image = bubble().querySelector("img:not(.small)");
      want(stage.asked.slice(before).filter((one) => one === "GET /instance/shop/messages/" + photo.id + "/media").length === 2, "it waits until the file is there");
      want(image?.src.startsWith("blob:") && saved.at(-1).type === "image/png", "the picture has the type that was checked: " + saved.at(-1)?.type);
      const url = image?.src;
      await at("chats/shop/351912001000@s.whatsapp.net");
      want(revoked.includes(url), "it is let go afterwards");
      URL.revokeObjectURL = revoke;
    },
    async "text is sent once, even if the answer is lost"() {
      await at("chats/shop/" + ada);
      const keys = [];
      stage.answers["POST /instance/shop/send/text"] = (body, headers) => { keys.push(headers.get("Idempotency-Key")); return keys.length === 1 ? stage.refusal(503, "INSTANCE_NOT_CONNECTED") : null; };
      await type(".composer textarea", "Hello");
      $(".composer textarea").dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", bubbles: true, cancelable: true }));
      await later(300);
      want(last().querySelector("[role=alert]").textContent.includes("not connected") && $(".composer textarea").value === "", "a failed message stays with its error");
      await press("Try again", last());
      await later(300);
      want(keys.length === 2 && keys[0] === keys[1] && keys[0].length > 16, "a retry has the same idempotency key");
      want(!$(".bubble.failed") && last().textContent.includes("Hello") && stage.sent.body.chat === ada, "and is sent");
    },
    async "a reply, a reaction and files"() {
      await at("chats/shop/" + ada);
      last().dispatchEvent(new PointerEvent("pointerenter"));
      await later(200);
      await press("Reply or react", last());
      all("[role=menuitem]").find((one) => one.textContent === "Reply").click();
      await later(200);
      want(document.activeElement === $(".composer textarea") && $(".replying"), "the composer has the focus");
      await type(".composer textarea", "As I said");
      await press("Send");
      want(Number.isInteger(stage.sent.body.options.quotedMessageId) && !$(".replying"), "it quotes the message");
      last().dispatchEvent(new PointerEvent("pointerenter"));
      await later(200);
      await press("Reply or react", last());
      all("[role=menuitem]").find((one) => one.textContent === "👍").click();
      await later(300);
      want(stage.sent.bare === "/send/reaction" && stage.sent.body.reactionMessage.reaction === "👍" && stage.sent.body.reactionMessage.key.fromMe === true, "a reaction refers to its message");
      want(last().querySelector(".reactions"), "and is shown");
      const files = new DataTransfer();
      files.items.add(new File(["%PDF"], "a.pdf", { type: "application/pdf" }));
      $(".talk").dispatchEvent(new DragEvent("drop", { dataTransfer: files, bubbles: true, cancelable: true }));
      await later(300);
      await type(".composer textarea", "The plan");
      await press("Send");
      want(stage.sent.form?.get("mediaType") === "document" && stage.sent.form.get("caption") === "The plan" && stage.sent.form.get("attachment").name === "a.pdf", "a dropped file is sent with its caption");
    },
    async "files never run"() {
      await at("chats/shop/" + ada);
      saved.length = 0;
      const show = all(".file .button").find((one) => one.textContent.trim() === "Show");
      show.click();
      await later(600);
      want($(".file img[src^='blob:']") && saved.at(-1)?.type === "image/png", "a picture is shown with a picture type");
      all(".file.document .button").at(-1).click();
      await later(600);
      want(saved.at(-1)?.type === "application/octet-stream" && !$("iframe, object, embed"), "a saved file has no active type");
    },
    async "a chat is searched"() {
      await at("chats/shop/" + ada);
      await press("Search this chat");
      want(document.activeElement === $(".found input"), "the search has the focus");
      await type(".found input", "ORDER");
      await later(500);
      want(all(".found .message").length >= 2 && $(".found [role=status]").textContent.includes("found") && stage.asked.some((one) => one.includes("query=ORDER")), "the server searches");
      await press("Close the search");
      want($(".composer") && last(), "and the chat is shown again");
    },
    async "the progress of a batch is shown live"() {
      await at("batches");
      want(all(".list .row").length > 5, "they are listed");
      const one = { ...stage.batches[0], name: "<i>x</i>", status: "PAUSED" };
      stage.tell({ type: "batch", batch: one });
      stage.tell({ type: "batchDeleted", id: stage.batches[1].id });
      await later(400);
      want($(".list .row").textContent.includes("<i>x</i>") && $(".list .row").textContent.includes("Paused") && !$(".list i") && !$(".list").textContent.includes("Scheduled"), "a change is drawn at once, as text");
      await at("batches/" + one.id + "?user=" + user);
      const counts = { ...one.counts };
      for (let i = 1; i <= 5; i++) {
        stage.tell({ type: "batch", batch: { ...one, status: "PROCESSING", counts: { ...counts, processed: counts.processed + i * 2, success: counts.success + i * 2, pending: counts.pending - i * 2 } } });
        await later(1000);
      }
      want(/1\d\d per minute · about/.test($(".progress-card").textContent) && $(".done").textContent.includes(String(counts.processed + 10)), "how fast it goes, and how long it takes: " + $(".progress-card").textContent);
    },
    async "a batch is paused, stopped, deleted and retried"() {
      const id = stage.batches[0].id;
      await at("batches/" + id + "?user=" + user);
      await press("Pause");
      want($("main").textContent.includes("Paused") && stage.asked.at(-1).startsWith("POST /message/batches/" + id) || stage.asked.includes("POST /message/batches/" + id + "/pause"), "paused");
      await press("Resume");
      await press("Stop");
      want($("dialog[open]").textContent.includes("cannot be resumed"), "stopping asks first");
      await press("Stop", $("dialog[open] footer"));
      want(!$("dialog[open]") && stage.asked.includes("POST /message/batches/" + id + "/stop"), "stopped");
      let body;
      stage.answers["POST /message/batches"] = (sent) => { body = sent; };
      await press("Retry failed");
      await later(600);
      want(body?.recipients.length === 7 && body.autoStart === false && body.message.payload.text && $("main").textContent.includes("Draft"), "a draft with the failed recipients");
    },
    async "items are filtered, and exported without formulas"() {
      const id = stage.batches.find((one) => one.status === "COMPLETED_WITH_ERRORS").id;
      await at("batches/" + id + "?user=" + user);
      all(".items .filter").find((one) => one.textContent.includes("Failed")).click();
      await later(500);
      want(all(".items-list .row").length > 5 && all(".items-list .row").every((one) => one.textContent.includes("SEND_MESSAGE_FAILED")), "only the matching ones");
      saved.length = 0;
      await press("Export CSV");
      await later(800);
      const lines = (await saved[0].text()).trim().split("\r\n");
      want(lines.length === 31 && lines[1].split(",")[1].startsWith("'+49"), "all of them, and what looks like a formula is a text: " + lines[1]);
    },
    async "a batch is made in steps"() {
      await at("batches/new");
      const form = () => $(".new-batch").textContent, next = () => $(".last .first"), why = () => document.getElementById(next().getAttribute("aria-describedby"))?.textContent;
      const step = () => $(".new-batch [aria-current=step]").textContent, links = () => all(".new-batch nav a[href]").length;
      want(step() === "1Recipients" && links() === 1, "it begins with the recipients, and the others cannot be opened yet");
      next().focus();
      next().click();
      want(document.activeElement === next() && next().getAttribute("aria-disabled") === "true" && why() === "Enter at least one number.", "Next takes the focus and says why not: " + why());
      await type(".new-batch textarea.code", 'name,phone,e-mail (work)\n\n"Ada,\nL.",+49 151 555 00003,a@example.org\nBen,4915155500004,b@example.org\nAda,4915155500003,\nX,=cmd(),\nCem,4915155500000,\nDora,0151 1234567,\nEve,0044 20 79460001,');
      await later(500);
      want(form().includes("4 numbers") && form().includes("1 duplicate counts once") && form().includes("1 line has no number") && form().includes("1 number begins with 0") && all(".as-table td.on").length > 0, "valid, duplicate and invalid lines: " + form());
      const lines = () => all(".left-out li").map((one) => one.textContent);
      want(lines().includes("7 =cmd()") && lines().includes("6 4915155500003"), "by the lines of the file: " + lines());
      await type("[inputmode=tel]", "x");
      want($("[inputmode=tel]").getAttribute("aria-invalid") === "true", "a country code has digits");
      await type("[inputmode=tel]", "+49");
      await later(400);
      want(form().includes("5 numbers") && !form().includes("begins with 0 and"), "with a country code they are numbers");
      await press("Next");
      want(step() === "2Message" && document.activeElement === $(".new-batch h2") && location.hash.includes("step=what"), "Next leads to the message, and its heading has the focus");
      want(why() === "Write the message.", "Next says what is missing: " + why());
      await press("{{name}}");
      await later(100);
      want($(".new-batch textarea").value === "{{name}}" && document.activeElement === $(".new-batch textarea"), "a button inserts a column");
      const examples = () => all(".new-batch .said").map((one) => one.textContent).join("|").replaceAll("\n", " ");
      await type(".new-batch textarea", "Dear {{name}} {{due}}");
      want(why() === "There is no column “due”." && $(".new-batch textarea").getAttribute("aria-invalid") === "true", "an unknown column is named: " + why());
      await type(".new-batch textarea", "{{{Dear {{name}}, {{due|soon}}: {{ e-mail work |none}}");
      want(examples() === "{{Dear Ada, L., soon: a@example.org|{{Dear Ben, soon: b@example.org|{{Dear Cem, soon: none", "the first three are shown: " + examples());
      await press("Next");
      want(step() === "3Options" && why() === "Give it a name.", "then the options: " + why());
      await type(".new-batch input[maxlength='255']", "Spring");
      want(why() === "Choose at least one.", "which needs an instance");
      $(".flags-list input").click();
      await later(300);
      await type("[inputmode=decimal]", "99");
      want(why()?.startsWith("From 0 to 86400"), "and a delay");
      await type("[inputmode=decimal]", "3");
      want($("details.further:not([open]) input.code")?.value === user, "the user is under Advanced and has one");
      history.back();
      await later(200);
      want(step() === "2Message" && links() === 4, "Back is the step before");
      let dry = 0, body, headers;
      stage.answers["POST /message/batches"] = (sent, given) => { if (sent.dryRun) dry++; else [body, headers] = [sent, given]; };
      await at("batches/new?step=check");
      await later(400);
      want(step() === "4Check and send" && dry === 1 && form().includes("Takes at least15s"), "the last page has the dry run: " + form());
      want(form().includes("4 of 5 are on WhatsApp") && form().includes("1 is not on WhatsApp") && lines().includes("8 4915155500000") && lines().includes("7 =cmd()"), "what is left out, by line: " + lines());
      want(examples().includes("Ada"), "and examples of the server");
      await press("Back");
      await press("Next");
      await later(300);
      want(dry === 1, "WhatsApp is not asked again for the same");
      await press("Send to 4 recipients");
      await later(600);
      want(body?.recipients.length === 4 && body.recipients[0].number === "4915155500003" && body.recipients[0].variables.name === "Ada,\nL." && body.recipients[2].number === "491511234567" && body.recipients[3].number === "442079460001", "then it is made: " + JSON.stringify(body?.recipients));
      want(!("dryRun" in body) && body.options.delay.minMs === 3000 && headers.get("x-postern-user") === user && headers.get("Idempotency-Key"), "for the user who is named");
      want(location.hash.startsWith("#/batches/0") && !sessionStorage.getItem("postern.drafts"), "and its page is shown: " + location.hash);
    },
    async "numbers alone are sent as they are"() {
      let body;
      stage.answers["POST /message/batches"] = (sent) => { if (!sent.dryRun) body = sent; };
      await at("batches/new");
      await stage.newBatch("4915155500003\n4915155500000", "A {{brace}}");
      await later(200);
      $(".sums input").click();
      await later(200);
      await press("Send to 2 recipients");
      await later(400);
      want(body?.recipients.join() === "4915155500003,4915155500000" && body.message.payload.text === "A {{brace}}", "without columns a text is no template: " + JSON.stringify(body));
    },
    async "a key with the scope batch sees its user's batches"() {
      stage.session = { operator: false, key: { id: "1", name: "campaigns", instances: ["shop"], scopes: ["batch"], userId: user } };
      stage.answers["GET /instance"] = () => stage.refusal(403, "SCOPE");
      all("button").find((one) => (one.getAttribute("aria-label") || "").startsWith("Sign out")).click();
      await later(500);
      await type("#key-form input", "right");
      $("#key-form").requestSubmit();
      await later(600);
      await at("batches");
      want(stage.asked.some((one) => one.startsWith("GET /message/batches?")) && !$(".toolbar .user") && all(".list .row").length > 3, "it uses the route for users");
      await at("batches/new");
      await stage.newBatch("4915155500003");
      await press("Back");
      want(!$(".new-batch .further") && all(".flags-list input").length === 1, "its instances are those of the key, and it has no other user");
    },
  };

  const { batches, talks } = stage, kept = new Map(talks);
  // Each step is run separately and returns its failures.
  window.walk = {
    names: Object.keys(steps),
    async run(name) {
      found.length = 0;
      Object.assign(stage, { answers: {}, asked: [], batches: batches.map((one) => ({ ...one })) });
      for (const [jid, list] of kept) talks.set(jid, list);
      await at("instances");
      try { await steps[name](); } catch (error) { found.push(String(error.stack)); }
      $("dialog[open] header button")?.click();
      return [...found];
    },
  };
  document.addEventListener("securitypolicyviolation", (event) => found.push("the policy forbids " + event.blockedURI));
  window.addEventListener("error", (event) => found.push("error: " + event.message));
  window.addEventListener("unhandledrejection", (event) => found.push("not caught: " + event.reason));
})();
