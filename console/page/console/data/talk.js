// What chats and batches know of the server: what stored messages say, whatever their kind, and
// who they are from; what happens on an instance while a page is open; states of batches and what
// is asked about them; lists of numbers, and tables to save. What messages say comes from strangers.
import { useEffect, useRef, useState } from "preact/hooks";
import { call, get, query, socketAt } from "./api.js";
import { session } from "./session.js";
import { numberOf } from "./states.js";

// Letters that nobody sees: marks of direction, joiners, controls. A name of them alone
// is none, and in a name they would turn or hide what stands beside it.
const unseen = /[\p{Cc}\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b\u200c\u200e\u200f\u202a-\u202e\u2060-\u206f\u3164\ufeff\uffa0]/gu;

export const named = (text) => String(text ?? "").replace(unseen, "").trim();

// chatName is what a chat is called: its name, else its number or address.
export const chatName = (chat, groups) => named(groups?.get(chat.jid)) || named(chat.name) || numberOf(chat.jid);

// senderOf is who wrote a message of a group.
export const senderOf = (message) => named(message.pushName) || numberOf(message.keyParticipant) || numberOf(message.keyRemoteJid);

const files = { imageMessage: "image", videoMessage: "video", ptvMessage: "video", audioMessage: "audio", documentMessage: "document", stickerMessage: "sticker", lottieStickerMessage: "sticker" };

// said is a message in plain parts: kind, text, file, quoted. kind is a key of words below
// "message.", "text" for what is only text.
export function said(message) {
  const content = message.content || {}, type = message.messageType || "";
  const file = files[type] || (type === "documentWithCaptionMessage" ? "document" : undefined);
  const quoted = content.contextInfo?.quotedMessage ? { id: content.contextInfo.stanzaId, ...quotedOf(content.contextInfo.quotedMessage) } : null;
  if (file) {
    const kind = type === "audioMessage" && content.ptt ? "voice" : file;
    return { kind, file: content, text: str(content.caption), name: named(content.fileName || content.title), quoted };
  }
  if (type === "conversation" || type === "extendedTextMessage") return { kind: "text", text: str(content.text), quoted };
  if (type === "locationMessage" || type === "liveLocationMessage") return { kind: "location", text: [content.name, content.address, `${content.degreesLatitude ?? ""}, ${content.degreesLongitude ?? ""}`].filter(Boolean).map(str).join("\n"), quoted };
  if (type === "contactMessage") return { kind: "contact", text: str(content.displayName), quoted };
  if (type === "contactsArrayMessage") return { kind: "contact", text: (content.contacts || []).map((one) => str(one?.displayName)).join("\n"), quoted };
  if (/^pollCreationMessage/.test(type)) return { kind: "poll", text: [content.name, ...(content.options || []).map((one) => "· " + str(one?.optionName))].map(str).join("\n"), quoted };
  return { kind: "other", text: str(content.text || content.caption || content.name || content.title || ""), type, quoted };
}

const str = (value) => typeof value === "string" || typeof value === "number" ? String(value) : "";

function quotedOf(quoted) {
  const [type] = Object.keys(quoted), value = quoted[type];
  return said({ messageType: type, content: typeof value === "string" ? { text: value } : { ...value, contextInfo: undefined } });
}

// about is the WhatsApp id of the message that another one only changes: a reaction, an
// edit or a deletion.
export function about(message) {
  if (message.messageType === "reactionMessage") return message.content?.key?.id || "?";
  if (message.metadata?.revoked) return message.metadata.revoked;
  return message.metadata?.editOf || "";
}

// folded are the messages that are shown of a list, the oldest first, with what others
// changed about them: reactions by who gave them, the newest text, that it was deleted.
export function folded(list) {
  const changed = new Map(), shown = [];
  for (const message of list) {
    const id = about(message);
    if (!id) {
      shown.push(message);
      continue;
    }
    const so = changed.get(id) || { reactions: new Map() };
    changed.set(id, so);
    if (message.messageType === "reactionMessage") {
      const who = message.keyFromMe ? "me" : message.keyParticipant || message.keyRemoteJid || "";
      if (message.content.text) so.reactions.set(who, str(message.content.text).slice(0, 16));
      else so.reactions.delete(who);
    } else if (message.metadata.revoked) so.revoked = true;
    else so.edit = message;
  }
  return shown.map((message) => ({ message, more: changed.get(message.keyId) }));
}

const order = ["unknown", "sent", "delivered", "read", "played"];

// statusOf is the furthest that a message of ours came.
export function statusOf(message) {
  let best = "sent";
  for (const { status } of message.messageUpdates || []) {
    if (status === "server_error") return status;
    if (order.indexOf(status) > order.indexOf(best)) best = status;
  }
  return best;
}

// Types that are shown. Whatever else a stranger says that a file is, it is only saved.
const safe = /^(image\/(jpeg|png|webp|gif)|audio\/(ogg|mpeg|mp4|aac|amr|wav|webm)|video\/(mp4|webm|3gpp))$/;

// typeOf is the type that a file may be shown as, "" for none.
export function typeOf(mime) {
  const [bare] = str(mime).toLowerCase().split(";");
  return safe.test(bare.trim()) ? bare.trim() : "";
}

// kindOf is how a file of this computer is sent.
export function kindOf(file) {
  if (/^image\/(jpeg|png)$/.test(file.type)) return "image";
  if (/^video\/(mp4|3gpp)$/.test(file.type)) return "video";
  return file.type.startsWith("audio/") ? "audio" : "document";
}

// once is a new Idempotency-Key. Without a secure connection there is no randomUUID.
export const once = () => [...crypto.getRandomValues(new Uint8Array(16))].map((b) => b.toString(16).padStart(2, "0")).join("");

const pause = 2000; // milliseconds before a lost connection is tried again

// useFeed calls tell with each event of an instance that is in names, and again when the
// connection is back after it was lost: something was missed. It returns whether it
// is open.
export function useFeed(instance, names, tell, again) {
  const [open, setOpen] = useState(false);
  const latest = useRef({});
  latest.current = { tell, again };
  useEffect(() => {
    if (!instance) return;
    let socket, timer = 0, over = false, lost = false;
    const dial = () => {
      socket = new WebSocket(socketAt("/ws/instance/events" + query({ event: names, instance })));
      socket.addEventListener("open", () => {
        setOpen(true);
        if (lost) latest.current.again();
        lost = false;
      });
      socket.addEventListener("message", ({ data }) => latest.current.tell(JSON.parse(data)));
      socket.addEventListener("close", () => {
        if (over) return;
        lost = true;
        setOpen(false);
        timer = setTimeout(dial, pause);
      });
    };
    dial();
    return () => { over = true; clearTimeout(timer); socket.close(); };
  }, [instance]);
  return open;
}

// Each state has a tone and an icon. Those of "ended" can be deleted, and change no more.
export const states = {
  DRAFT: ["off", "docs"], SCHEDULED: ["off", "clock"], QUEUED: ["busy", "busy"], PROCESSING: ["busy", "busy"],
  WAITING_FOR_INSTANCE: ["bad", "bad"], WAITING_FOR_WINDOW: ["off", "clock"], PAUSE_REQUESTED: ["busy", "held"], PAUSED: ["off", "held"],
  STOP_REQUESTED: ["busy", "off"], STOPPED: ["off", "off"], INTERRUPTED: ["bad", "bad"], COMPLETED: ["good", "good"], COMPLETED_WITH_ERRORS: ["bad", "bad"],
};
export const ended = (status) => /^(STOPPED|COMPLETED|COMPLETED_WITH_ERRORS)$/.test(status);
export const can = {
  start: (status) => /^(DRAFT|PAUSED|INTERRUPTED)$/.test(status),
  pause: (status) => /^(QUEUED|SCHEDULED|PROCESSING|WAITING_FOR_INSTANCE|WAITING_FOR_WINDOW)$/.test(status),
  stop: (status) => !ended(status) && status !== "STOP_REQUESTED",
};

// filters are groups of states, as one looks for them.
export const filters = {
  running: ["QUEUED", "PROCESSING", "WAITING_FOR_INSTANCE", "WAITING_FOR_WINDOW", "SCHEDULED", "PAUSE_REQUESTED", "STOP_REQUESTED"],
  rest: ["DRAFT", "PAUSED", "INTERRUPTED"],
  errors: ["COMPLETED_WITH_ERRORS"],
  done: ["COMPLETED", "STOPPED"],
};

export const itemStates = { PENDING: ["off", "clock"], SENDING: ["busy", "busy"], SUCCESS: ["good", "good"], FAILED: ["bad", "bad"], SKIPPED: ["off", "off"], UNKNOWN: ["bad", "info"] };

export const uuid = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i;

// as says whose batches are meant. A key has a user of its own; the operator names one.
export const as = (user) => session.value.operator && user ? { headers: { "x-postern-user": user } } : {};
export const pathOf = (id) => "/message/batches/" + encodeURIComponent(id);
export const listOf = (values) => session.value.operator ? "/admin/batches" + query(values) : "/message/batches" + query({ ...values, ownerUserId: "" });

export const act = (batch, what) => call("POST", pathOf(batch.id) + "/" + what, undefined, as(batch.ownerUserId));

// itemsOf reads all items, page by page; each calls with how many there are so far.
export async function itemsOf(batch, status, each, signal) {
  const all = [];
  for (let nextCursor = ""; ; ) {
    const page = await get(pathOf(batch.id) + "/items" + query({ status, limit: 200, nextCursor }), { ...as(batch.ownerUserId), signal });
    all.push(...page.records);
    each?.(all.length);
    nextCursor = page.nextCursor;
    if (!nextCursor) return all;
  }
}

// again is a draft for those whom a batch did not reach.
export async function again(batch, name) {
  const failed = await itemsOf(batch, "FAILED");
  return call("POST", "/message/batches", {
    name: name.slice(0, 255), instances: batch.instances.map((one) => one.name), recipients: failed.map((item) => item.normalizedRecipient), message: batch.message,
    options: batch.options, autoStart: false, autoResume: batch.autoResume,
    ...(batch.schedule?.recurrence === "DAILY" && { schedule: batch.schedule }),
  }, { ...as(batch.ownerUserId), patience: 60000 });
}

export const most = 100000; // recipients of a batch, unless the server is set otherwise
export const maxFile = 20e6; // bytes of a file that is read

// digitsOf are the digits of a phone number, "" for what is none: the server's own rule.
export function digitsOf(text) {
  const digits = text.replace(/^(.*)@(s\.whatsapp\.net|c\.us)$/, "$1").replace(/[+()./\p{Pd}\s\p{Cf}]/gu, "");
  return /^\d{7,15}$/.test(digits) ? digits : "";
}

// tableOf reads a text into rows of cells: of a line each, parted by what parts most of the
// first lines (comma, semicolon, tab), with quotes as in CSV. A text without any is a column.
export function tableOf(text) {
  const head = text.slice(0, 4000);
  const parts = [";", "\t", ","].map((one) => [one, head.split(one).length]).sort((a, b) => b[1] - a[1]);
  const part = parts[0][1] > 1 ? parts[0][0] : ",";
  const rows = [];
  let row = [], cell = "", quoted = false;
  const end = () => {
    row.push(cell.trim());
    if (row.some(Boolean)) rows.push(row);
    row = [];
    cell = "";
  };
  for (let i = text.charCodeAt(0) === 0xfeff ? 1 : 0; i < text.length; i++) {
    const c = text[i];
    if (quoted) {
      if (c !== '"') cell += c;
      else if (text[i + 1] === '"') cell += text[++i];
      else quoted = false;
    } else if (c === '"' && cell.trim() === "") [quoted, cell] = [true, ""];
    else if (c === part) {
      row.push(cell.trim());
      cell = "";
    } else if (c === "\n" || c === "\r") end();
    else cell += c;
  }
  end();
  return rows;
}

// columnOf is the column that most looks like numbers.
export function columnOf(rows) {
  const some = rows.slice(0, 200), wide = Math.max(0, ...some.map((row) => row.length));
  let best = 0, most = -1;
  for (let at = 0; at < wide; at++) {
    const n = some.filter((row) => digitsOf(row[at] || "")).length;
    if (n > most) [best, most] = [at, n];
  }
  return best;
}

// sorted parts what a column has into numbers, what comes again, and what is none, each with the
// line where it stands. A first line without a number is the head. A line of numbers with
// commas between, which is no table, counts as many.
export function sorted(rows, column) {
  const numbers = [], again = [], wrong = [], seen = new Set();
  const flat = rows.every((row) => row.every((cell) => !cell || digitsOf(cell)));
  rows.forEach((row, line) => {
    for (const text of flat && column < 0 ? row : [row[Math.max(0, column)] || ""]) {
      const digits = digitsOf(text);
      if (!digits && line === 0 && rows.length > 1 && !/\d{4}/.test(text)) continue;
      if (!digits && !text && flat) continue;
      if (!digits) wrong.push({ text, line: line + 1 });
      else if (seen.has(digits)) again.push({ text, line: line + 1 });
      else {
        seen.add(digits);
        numbers.push(digits);
      }
    }
  });
  return { numbers, again, wrong };
}

// csv is a table as a file. A spreadsheet takes a cell that begins with = + - or @ for a
// formula: an apostrophe in front makes it a text.
export const csv = (rows) => "\ufeff" + rows.map((row) => row.map(cellOf).join(",")).join("\r\n") + "\r\n";

function cellOf(value) {
  const text = String(value ?? "");
  const plain = /^\s*[=+\-@\t\r]/.test(text) ? "'" + text : text;
  return /[",\r\n]/.test(plain) ? '"' + plain.replaceAll('"', '""') + '"' : plain;
}

// save lets the browser save what was made, without running any of it.
export function save(name, blob) {
  const url = URL.createObjectURL(new Blob([blob], { type: "application/octet-stream" }));
  const link = Object.assign(document.createElement("a"), { href: url, download: name.replace(/[\p{Cc}\p{Cf}/\\:*?"<>|]/gu, "_").slice(0, 120) || "file" });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 60000);
}
