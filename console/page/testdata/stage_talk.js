"use strict";

// Data of the stage for chats and batches.
(() => {
  const { scene, json, refusal } = stage;
  const hostile = "<img src=x onerror=alert(1)><script>alert(2)</scr" + "ipt>‮ \"'&amp;";
  const bad = scene === "hostile";
  const now = Math.floor(Date.now() / 1000), at = (seconds) => new Date((now - seconds) * 1000).toISOString();
  const ada = "4915112345678@s.whatsapp.net", group = "120363041234567890@g.us", user = "0196f0a0-0000-7000-8000-000000000001";
  // A grey thumbnail of eight pixels, like that of a phone.
  const small = "/9j/4AAQSkZJRgABAQEASABIAAD/2wBDAP//////////////////////////////////////////////////////////////////////////////////////wgALCAABAAEBAREA/8QAFBABAAAAAAAAAAAAAAAAAAAAAP/aAAgBAQABPxA=";
  let ids = 100;
  const message = (ago, mine, messageType, content, more) => ({
    id: ++ids, keyId: "3EB0" + ids, keyRemoteJid: ada, keyLid: null, keyFromMe: mine, keyParticipant: null, keyParticipantLid: null, pushName: mine ? null : bad ? hostile + "\u200b" : "Ada Lovelace",
    messageType, content, messageTimestamp: now - ago, device: "android", isGroup: false, metadata: null, messageUpdates: [], ...more,
  });
  const text = (ago, mine, words, more) => message(ago, mine, "conversation", { text: words }, more);
  const seen = (...all) => ({ messageUpdates: all.map((status) => ({ status, dateTime: at(0) })) });
  const talks = new Map();
  const old = Array.from({ length: 260 }, (_, i) => text(86400 * 9 - i * 1500, i % 3 === 1, ["Do you have the blue one?", "Yes, two of them.", "Then I come by on Friday."][i % 3] + " (" + (i + 1) + ")", seen("delivered", "read")));
  const photo = message(5400, false, "imageMessage", { mimetype: "image/png", caption: "This one, please", fileLength: "184320", width: 640, height: 480, jpegThumbnail: small });
  const question = text(3700, false, bad ? hostile : "Is my order ready?");
  talks.set(ada, [
    ...old, text(7200, false, bad ? "‏שלום " + "עברית ".repeat(30) : "Good morning! I ordered a lamp last week."), photo,
    ...(bad ? [message(5000, false, "documentMessage", { fileName: hostile + "‮gpj.exe", mimetype: "text/html", fileLength: "99" }), text(4900, false, "​‍⁠"), text(4800, false, "x".repeat(9000)), message(4700, false, hostile, { text: hostile }), text(4600, false, "Z̴͓͋͗͌a̷͇͊l̸̳̈́g̶̠̈o̴̥͝ ".repeat(40))] : []),
    message(5300, true, "audioMessage", { mimetype: "audio/ogg; codecs=opus", ptt: true, seconds: 7, fileLength: "11211" }, seen("delivered", "played")),
    message(5200, true, "documentMessage", { fileName: "invoice-4711.pdf", mimetype: "application/pdf", fileLength: "48210" }, seen("delivered")),
    question, message(3650, true, "extendedTextMessage", { text: "Yes, from four o’clock on.", contextInfo: { stanzaId: question.keyId, quotedMessage: { conversation: question.content.text } } }, seen("delivered", "read")),
    message(3600, false, "reactionMessage", { key: { id: "3EB0" + (ids), remoteJid: ada, fromMe: true }, text: bad ? hostile : "🎉" }),
    text(120, true, "See you then.", seen("delivered")), text(60, true, "We close at seven."),
  ]);
  talks.set(group, ["Ben", "Carla", "Ben"].map((pushName, i) => text(2000 - i * 300, false, ["Who opens tomorrow?", "I do.", "Thank you 🙏"][i], { keyRemoteJid: group, isGroup: true, pushName, keyParticipant: (pushName === "Ben" ? "4915155500004" : "351912345678") + "@s.whatsapp.net" })));
  for (let i = 0; i < (scene === "empty" ? 0 : 40); i++) {
    const jid = "35191200" + String(1000 + i) + "@s.whatsapp.net";
    talks.set(jid, [text(9000 + i * 7000, i % 2 === 0, ["Thank you very much!", "What does delivery to Porto cost?", "👍", "I will call you tomorrow."][i % 4], { keyRemoteJid: jid, pushName: ["Marta", "João", "Zoë", "Anders"][i % 4] + " " + (i + 1), ...seen("delivered", ...(i % 4 ? ["read"] : [])) })]);
  }
  const listed = () => [...talks].filter(([, all]) => all.length).map(([jid, all]) => ({ jid, isGroup: jid.endsWith("@g.us"), name: all.findLast((one) => one.pushName)?.pushName || "", lastMessage: all.at(-1) })).sort((a, b) => b.lastMessage.messageTimestamp - a.lastMessage.messageTimestamp);
  stage.talks = talks;
  stage.text = (words) => text(0, false, words);

  // pages pages through a list whose newest entry is last, like the server.
  const pages = (all, q, limit) => {
    const before = Number(q.get("nextCursor")), after = Number(q.get("previousCursor"));
    let end = before ? all.findIndex((one) => one.id >= before) : all.length, begin = Math.max(0, end - limit);
    if (after) [begin, end] = [all.findIndex((one) => one.id > after), 0], end = begin < 0 ? (begin = all.length) : Math.min(all.length, begin + limit);
    return { records: all.slice(begin, end).reverse(), nextCursor: begin > 0 ? String(all[begin].id) : null, previousCursor: end < all.length ? String(all[end - 1].id) : null, totalRecords: all.length };
  };

  const batch = (n, status, done, more) => {
    const counts = { total: 1200, processed: 0, success: 0, failed: 0, unknown: 0, skipped: 0, sending: 0, pending: 0, received: 1204, duplicatesIgnored: 4, ...done };
    counts.processed = counts.success + counts.failed + counts.unknown + counts.skipped;
    counts.pending = counts.total - counts.processed - counts.sending;
    return { id: "00000000-0000-7000-8000-" + String(n).padStart(12, "0"), name: bad ? hostile + "x".repeat(200) : ["Ready for pickup", "Spring opening", "Invoices of May", "Appointments of tomorrow", "Survey"][(n - 1) % 5], status, progress: Math.floor(counts.processed / counts.total * 100), counts, createdAt: at(n * 4000), updatedAt: at(5), startedAt: at(1200), nextRunAt: status === "SCHEDULED" ? at(-7200) : null,
      schedule: status === "SCHEDULED" ? { windowStartAt: at(-7200), windowEndAt: at(-28000), recurrence: "DAILY", timezone: "Europe/Berlin" } : null, autoResume: true, options: { delay: { minMs: 3000, maxMs: 9000 }, skipUnregistered: true }, message: { type: "text", payload: { text: bad ? hostile : "Your order is ready. We are open from nine to seven." } },
      ownerUserId: user, instances: [{ id: 1, name: stage.instances[0]?.name || "shop" }], interruptionReason: null, externalAttributes: {}, ...more };
  };
  stage.batches = scene === "empty" ? [] : [batch(1, "PROCESSING", { success: 412, failed: 7, skipped: 21, unknown: 1, sending: 1 }), batch(2, "SCHEDULED", {}), batch(3, "COMPLETED_WITH_ERRORS", { success: 1168, failed: 30, unknown: 2 }), batch(4, "WAITING_FOR_INSTANCE", { success: 90 }), batch(5, "PAUSED", { success: 640, skipped: 11 }), batch(6, "DRAFT", {}), batch(7, "COMPLETED", { success: 1190, skipped: 10 }), batch(8, "STOPPED", { success: 11 }),
    ...Array.from({ length: scene === "many" ? 600 : 0 }, (_, i) => batch(9 + i, "COMPLETED", { success: 1200 }))];
  const items = (of) => Array.from({ length: of.counts.total }, (_, i) => {
    const c = of.counts, status = i < c.failed ? "FAILED" : i < c.failed + c.unknown ? "UNKNOWN" : i < c.failed + c.unknown + c.skipped ? "SKIPPED" : i < c.processed ? "SUCCESS" : i < c.processed + c.sending ? "SENDING" : "PENDING";
    return { id: of.id + "-" + i, position: i, recipientInput: bad ? "=1+" + hostile : "+49 151 555 " + String(i).padStart(5, "0"), normalizedRecipient: "49151555" + String(i).padStart(5, "0"), status, selectedInstanceName: i < c.processed ? of.instances[0].name : null, attemptCount: 1, lastErrorCode: status === "FAILED" ? "SEND_MESSAGE_FAILED" : null, lastErrorMessage: status === "FAILED" ? bad ? hostile : "the recipient is not on WhatsApp" : null, whatsappMessageId: null, finishedAt: i < c.processed ? at(1000 - i / 2) : null };
  });

  const batches = (method, path, body, headers) => {
    const [bare, search] = path.split("?"), q = new URLSearchParams(search);
    if (bare === "/admin/batches" || method === "GET" && bare === "/message/batches") {
      const fits = stage.batches.filter((one) => (!q.has("status") || q.getAll("status").includes(one.status)) && one.name.toLowerCase().includes((q.get("query") || "").toLowerCase()) && (!q.get("ownerUserId") || one.ownerUserId === q.get("ownerUserId")));
      const from = Number(q.get("nextCursor")) || 0, limit = Number(q.get("limit"));
      return json(200, { records: fits.slice(from, from + limit), nextCursor: from + limit < fits.length ? String(from + limit) : null, previousCursor: null, totalRecords: fits.length });
    }
    if (stage.session.operator && headers.get("x-postern-user") !== user) return refusal(400, "MISSING_FIELD", "the header x-postern-user must have the UUID of the user whose batches to use");
    if (method === "POST" && bare === "/message/batches" && body.dryRun) {
      const numberOf = (one) => one.number || one, { total } = batch(1, "DRAFT", { total: body.recipients.length }).counts;
      return json(200, {
        counts: { total }, duplicates: 0, malformed: bad ? [{ index: 0, input: hostile, error: "a phone number has 7 to 15 digits" }] : [], notOnWhatsApp: body.recipients.map(numberOf).filter((one) => one.endsWith("0000")), checked: total, estimatedMs: total * body.options.delay.minMs, instances: body.instances.map((name) => ({ id: 1, name })),
        examples: body.recipients.slice(0, 2).map((one, position) => ({ position, recipient: numberOf(one), text: bad ? hostile : "Example " + JSON.stringify(one.variables || body.message.payload.text) })),
      });
    }
    if (method === "POST" && bare === "/message/batches") {
      const made = batch(stage.batches.length + 900, body.autoStart === false ? "DRAFT" : "QUEUED", { total: body.recipients.length }, { name: body.name, message: body.message, options: body.options, createdAt: at(0) });
      stage.batches.unshift(made);
      return json(201, made);
    }
    const [, , , id, what] = bare.split("/"), one = stage.batches.find((other) => other.id === id);
    if (!one) return refusal(404, "BATCH_NOT_FOUND");
    if (method === "DELETE") { stage.batches = stage.batches.filter((other) => other !== one); return json(204); }
    if (what === "items") {
      const all = items(one).filter((item) => (!q.get("status") || item.status === q.get("status")) && (!q.get("recipient") || item.normalizedRecipient.includes(q.get("recipient"))));
      const from = Number(q.get("nextCursor")) || 0, limit = Number(q.get("limit"));
      return json(200, { records: all.slice(from, from + limit), nextCursor: from + limit < all.length ? String(from + limit) : null, previousCursor: null, totalRecords: all.length });
    }
    if (method === "POST") Object.assign(one, { status: { start: "PROCESSING", pause: "PAUSED", stop: "STOPPED" }[what] });
    return json(200, one);
  };

  stage.more = (method, path, body, headers, raw, row) => {
    if (/^\/(admin|message)\/batches/.test(path)) return batches(method, path, body, headers);
    if (!row) return;
    const rest = path.replace(/^\/instance\/[^/?]+/, ""), [bare, search] = rest.split("?"), q = new URLSearchParams(search);
    const quiet = row.connectionStatus !== "online";
    if (bare === "/chats") {
      const from = Number(q.get("nextCursor")) || 0, all = quiet ? [] : listed();
      return json(200, { records: all.slice(from, from + 100), nextCursor: null });
    }
    if (bare === "/groups") return json(200, [{ id: group, subject: bad ? hostile : "Team Berlin" }]);
    if (bare === "/contacts") return json(200, { nextCursor: null, records: [{ id: 1, jid: ada, pushName: bad ? hostile : "Ada Lovelace" }, { id: 2, jid: "351912345678@s.whatsapp.net", fullName: "Adam Costa" }] });
    const [, jid] = /^\/chats\/([^/]+)\/messages$/.exec(bare) || [];
    if (jid) {
      const all = talks.get(decodeURIComponent(jid)) || [], wanted = q.get("query")?.toLowerCase();
      return json(200, pages(wanted ? all.filter((one) => String(one.content.text || one.content.caption || "").toLowerCase().includes(wanted)) : all, q, Number(q.get("limit"))));
    }
    if (bare.startsWith("/send/")) {
      const form = raw instanceof FormData ? raw : null, to = form ? form.get("chat") : body.chat;
      const made = form ? message(0, true, bare.includes("ptt") ? "audioMessage" : form.get("mediaType") + "Message", { caption: form.get("caption") || "", fileName: form.get("attachment").name, mimetype: form.get("attachment").type, fileLength: String(form.get("attachment").size), ptt: bare.includes("ptt") }) :
        body.reactionMessage ? message(0, true, "reactionMessage", { key: body.reactionMessage.key, text: body.reactionMessage.reaction }) : text(0, true, body.textMessage.text);
      made.keyRemoteJid = to;
      stage.sent = { bare, body, form, headers };
      talks.set(to, [...(talks.get(to) || []), made]);
      return json(200, made);
    }
    if (/^\/messages\/\d+\/media$/.test(bare)) return fetchReal(stage.picture()).then((picture) => picture.blob()).then((blob) => new Response(blob));
    if (bare === "/chat/is-account") return json(200, body.numbers.map((one) => ({ number: one, jid: one + "@s.whatsapp.net", lid: null, exists: !one.endsWith("0000") })));
  };
  const fetchReal = async (address) => {
    const bytes = Uint8Array.from(atob(address.split(",")[1]), (c) => c.charCodeAt(0));
    return { blob: async () => new Blob([bytes], { type: "text/html" }) }; // the type declared by the sender
  };
  stage.refuse = (request) => { stage.answers[request] = () => refusal(503, "INSTANCE_NOT_CONNECTED"); };
  // newBatch fills in the steps of a new batch and goes to the last one.
  stage.newBatch = async (numbers, text = "Your order is ready.") => {
    await stage.type(".new-batch textarea.code", numbers);
    await stage.until(() => document.querySelector(".new-batch .last .first:not([aria-disabled])"));
    await stage.press(".new-batch .last .first");
    await stage.type(".new-batch textarea", text);
    await stage.press(".new-batch .last .first");
    await stage.type(".new-batch input[maxlength='255']", "Spring");
    await stage.press(".new-batch .flags-list input");
    await stage.until(() => document.querySelector(".new-batch .last .first:not([aria-disabled])"));
    await stage.press(".new-batch .last .first");
    await stage.until(() => document.querySelector(".new-batch .last .first:not([aria-disabled])"));
  };
  stage.type = async (selector, words) => {
    await stage.until(() => document.querySelector(selector));
    const box = document.querySelector(selector);
    box.value = words;
    box.dispatchEvent(new Event("input", { bubbles: true }));
    await stage.settled();
  };
})();
