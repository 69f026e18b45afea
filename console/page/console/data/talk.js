// Data of chats and batches: stored messages with what changed them, live events of an instance,
// batch states and calls, lists of numbers, CSV export. Message content is untrusted.
import { useEffect, useRef, useState } from "preact/hooks";
import { call, get, query, socketAt } from "./api.js";
import { about, str } from "./messages.js";
import { session } from "./session.js";

// folded returns the visible messages of a list, oldest first, with reactions by sender,
// edits and deletions applied.
export function folded(list) {
  const changed = new Map(),
    shown = [];
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

// statusOf returns the highest delivery status of an own message.
export function statusOf(message) {
  let best = "sent";
  for (const { status } of message.messageUpdates || []) {
    if (status === "server_error") return status;
    if (order.indexOf(status) > order.indexOf(best)) best = status;
  }
  return best;
}

// Types that are displayed. Files of any other declared type can only be saved.
const safe = /^(image\/(jpeg|png|webp|gif)|audio\/(ogg|mpeg|mp4|aac|amr|wav|webm)|video\/(mp4|webm|3gpp))$/;

// typeOf returns the type for displaying a file, "" for none.
export function typeOf(mime) {
  const [bare] = str(mime).toLowerCase().split(";");
  return safe.test(bare.trim()) ? bare.trim() : "";
}

// kindOf returns the message kind for a local file.
export function kindOf(file) {
  if (/^image\/(jpeg|png)$/.test(file.type)) return "image";
  if (/^video\/(mp4|3gpp)$/.test(file.type)) return "video";
  return file.type.startsWith("audio/") ? "audio" : "document";
}

// once returns a new Idempotency-Key. An insecure context has no randomUUID.
export const once = () =>
  [...crypto.getRandomValues(new Uint8Array(16))].map((b) => b.toString(16).padStart(2, "0")).join("");

const pause = 2000; // milliseconds before a reconnect

// useFeed calls tell with each event of an instance that is in names, and after a reconnect,
// since events may be missing. It returns whether the connection is open.
export function useFeed(instance, names, tell, again) {
  const [open, setOpen] = useState(false);
  /** @type {any} */
  const latest = useRef({});
  latest.current = { tell, again };
  useEffect(() => {
    if (!instance) return;
    let socket,
      timer = 0,
      over = false,
      lost = false;
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
    return () => {
      over = true;
      clearTimeout(timer);
      socket.close();
    };
  }, [instance]);
  return open;
}

// The tone and icon of each state. Batches in a state of "ended" are final and can be deleted.
export const states = {
  DRAFT: ["off", "docs"],
  SCHEDULED: ["off", "clock"],
  QUEUED: ["busy", "busy"],
  PROCESSING: ["busy", "busy"],
  WAITING_FOR_INSTANCE: ["bad", "bad"],
  WAITING_FOR_WINDOW: ["off", "clock"],
  PAUSE_REQUESTED: ["busy", "held"],
  PAUSED: ["off", "held"],
  STOP_REQUESTED: ["busy", "off"],
  STOPPED: ["off", "off"],
  INTERRUPTED: ["bad", "bad"],
  COMPLETED: ["good", "good"],
  COMPLETED_WITH_ERRORS: ["bad", "bad"],
};
export const ended = (status) => /^(STOPPED|COMPLETED|COMPLETED_WITH_ERRORS)$/.test(status);
export const allows = {
  start: (status) => /^(DRAFT|PAUSED|INTERRUPTED)$/.test(status),
  pause: (status) => /^(QUEUED|SCHEDULED|PROCESSING|WAITING_FOR_INSTANCE|WAITING_FOR_WINDOW)$/.test(status),
  stop: (status) => !ended(status) && status !== "STOP_REQUESTED",
};

// filters are groups of states for the list.
export const filters = {
  running: [
    "QUEUED",
    "PROCESSING",
    "WAITING_FOR_INSTANCE",
    "WAITING_FOR_WINDOW",
    "SCHEDULED",
    "PAUSE_REQUESTED",
    "STOP_REQUESTED",
  ],
  rest: ["DRAFT", "PAUSED", "INTERRUPTED"],
  errors: ["COMPLETED_WITH_ERRORS"],
  done: ["COMPLETED", "STOPPED"],
};

export const itemStates = {
  PENDING: ["off", "clock"],
  SENDING: ["busy", "busy"],
  SUCCESS: ["good", "good"],
  FAILED: ["bad", "bad"],
  SKIPPED: ["off", "off"],
  UNKNOWN: ["bad", "info"],
};

export const uuid = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i;

// as returns the header that names the user. A key has its own user; the operator names one.
export const as = (user) => (session.value.operator && user ? { headers: { "x-postern-user": user } } : {});
export const pathOf = (id) => "/message/batches/" + encodeURIComponent(id);
export const listOf = (values) =>
  session.value.operator
    ? "/admin/batches" + query(values)
    : "/message/batches" + query({ ...values, ownerUserId: "" });

export const act = (batch, what) => call("POST", pathOf(batch.id) + "/" + what, undefined, as(batch.ownerUserId));

// itemsOf reads all items page by page and calls each with the number so far.
export async function itemsOf(batch, status, each, signal) {
  const all = [];
  for (let nextCursor = ""; ; ) {
    const page = await get(pathOf(batch.id) + "/items" + query({ status, limit: 200, nextCursor }), {
      ...as(batch.ownerUserId),
      signal,
    });
    all.push(...page.records);
    each?.(all.length);
    nextCursor = page.nextCursor;
    if (!nextCursor) return all;
  }
}

// again creates a draft with the failed recipients of a batch.
export async function again(batch, name) {
  const failed = await itemsOf(batch, "FAILED");
  return call(
    "POST",
    "/message/batches",
    {
      name: name.slice(0, 255),
      instances: batch.instances.map((one) => one.name),
      recipients: failed.map((item) => item.normalizedRecipient),
      message: batch.message,
      options: batch.options,
      autoStart: false,
      autoResume: batch.autoResume,
      ...(batch.schedule?.recurrence === "DAILY" && { schedule: batch.schedule }),
    },
    { ...as(batch.ownerUserId), patience: 60000 },
  );
}

export const most = 100000; // default limit of recipients per batch
export const maxFile = 20e6; // limit of an imported file in bytes

// digitsOf returns the digits of a phone number, "" for invalid ones, by the server's rule.
export function digitsOf(text) {
  const digits = text.replace(/^(.*)@(s\.whatsapp\.net|c\.us)$/, "$1").replace(/[+()./\p{Pd}\s\p{Cf}]/gu, "");
  return /^\d{7,15}$/.test(digits) ? digits : "";
}

// tableOf parses a text into rows of cells, each row with the line where it begins. The separator is
// the one that splits most of the first lines (comma, semicolon, tab); quotes are as in CSV. Without
// one it is a single column.
export function tableOf(text) {
  const head = text.slice(0, 4000);
  const parts = [";", "\t", ","].map((one) => [one, head.split(one).length]).sort((a, b) => b[1] - a[1]);
  const part = parts[0][1] > 1 ? parts[0][0] : ",";
  const rows = [];
  let row = [],
    cell = "",
    quoted = false,
    line = 1,
    from = 1;
  const end = () => {
    row.push(cell.trim());
    if (row.some(Boolean)) rows.push(Object.assign(row, { line: from }));
    row = [];
    cell = "";
    from = line;
  };
  for (let i = text.charCodeAt(0) === 0xfeff ? 1 : 0; i < text.length; i++) {
    const c = text[i];
    if (c === "\n" || (c === "\r" && text[i + 1] !== "\n")) line++;
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

// sheetOf returns whether a table has columns besides numbers, how many, the one that most likely has
// the numbers, and the names of the others for {{name}}: the cells of its first line, if that has
// no number, and else their numbers from 1.
export function sheetOf(rows) {
  const wide = rows.reduce((n, row) => Math.max(n, row.length), 0),
    guess = columnOf(rows);
  const headed = rows.length > 1 && !/\d{4}/.test(rows[0][guess] || "");
  const names = Array.from(
    { length: wide },
    (_, i) =>
      (headed &&
        (rows[0][i] || "")
          .replace(/[^\p{L}\p{M}\p{N}_.-]+/gu, " ")
          .trim()
          .slice(0, 64)) ||
      String(i + 1),
  );
  return {
    wide,
    guess,
    names,
    tabled: wide > 1 && !rows.every((row) => row.every((cell) => !cell || /^[+\d()./\s-]{7,}$/.test(cell))),
  };
}

const holes = /\{\{\{|\{\{([^{}|]*)(\|[^}]*)?\}\}/g;

// usedIn returns the variables of a text: [name, whether it has a fallback].
export const usedIn = (text) =>
  [...text.matchAll(holes)].filter(([whole]) => whole !== "{{{").map(([, name, or]) => [name.trim(), or !== undefined]);

// filledIn returns the text with the values, as the server does.
export const filledIn = (text, values) =>
  text.replace(holes, (whole, name, or) => (whole === "{{{" ? "{{" : values[name.trim()] || (or || "").slice(1)));

// columnOf returns the column that most likely has the numbers.
function columnOf(rows) {
  const some = rows.slice(0, 200),
    wide = Math.max(0, ...some.map((row) => row.length));
  let best = 0,
    most = -1;
  for (let at = 0; at < wide; at++) {
    const n = some.filter((row) => digitsOf(row[at] || "")).length;
    if (n > most) [best, most] = [at, n];
  }
  return best;
}

// sorted splits a column into numbers with their rows, duplicates, national numbers, which begin with
// 0, and invalid lines, each with its line. With a country code national ones are numbers; 00 begins
// an international one. A first line without a number is the header. A line of several numbers
// separated by commas counts as several.
export function sorted(rows, column, country) {
  const numbers = [],
    from = [],
    again = [],
    wrong = [],
    national = [],
    seen = new Set();
  const flat = rows.every((row) => row.every((cell) => !cell || digitsOf(cell)));
  rows.forEach((row, at) => {
    for (const text of flat && column < 0 ? row : [row[Math.max(0, column)] || ""]) {
      const { line } = row,
        digits = digitsOf(text).replace(/^00/, "");
      if (!digits && at === 0 && rows.length > 1 && !/\d{4}/.test(text)) continue;
      if (!digits && !text && flat) continue;
      const own = digits[0] === "0" ? country && country + digits.slice(1) : digits;
      if (digits && !own) national.push({ text, line });
      else if (!/^[1-9]\d{6,14}$/.test(own)) wrong.push({ text, line });
      else if (seen.has(own)) again.push({ text, line });
      else {
        seen.add(own);
        numbers.push(own);
        from.push(row);
      }
    }
  });
  return { numbers, from, again, national, wrong };
}

// csv encodes a table. Spreadsheets treat a cell that begins with = + - or @ as a formula;
// a leading apostrophe makes it text.
export const csv = (rows) => "\ufeff" + rows.map((row) => row.map(cellOf).join(",")).join("\r\n") + "\r\n";

function cellOf(value) {
  const text = String(value ?? "");
  const plain = /^\s*[=+\-@\t\r]/.test(text) ? "'" + text : text;
  return /[",\r\n]/.test(plain) ? '"' + plain.replaceAll('"', '""') + '"' : plain;
}

// save downloads data as a file without opening it.
export function save(name, blob) {
  const url = URL.createObjectURL(new Blob([blob], { type: "application/octet-stream" }));
  const link = Object.assign(document.createElement("a"), {
    href: url,
    download: name.replace(/[\p{Cc}\p{Cf}/\\:*?"<>|]/gu, "_").slice(0, 120) || "file",
  });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 60000);
}
