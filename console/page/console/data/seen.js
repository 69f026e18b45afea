// Which messages this browser has shown: by a checksum of instance and chat, when the last one
// was sent. It outlives the session and tells neither names nor numbers.
import { cell } from "./cell.js";
import { store, stored } from "../words.js";

const room = 2000; // entries

function readSights() {
  try {
    return JSON.parse(stored("seen")) || {};
  } catch {
    // nothing is stored
    return {};
  }
}

export const sights = cell(readSights());

function sumOf(...parts) {
  let sum = 2166136261;
  for (const char of JSON.stringify(parts)) sum = Math.imul(sum ^ char.codePointAt(0), 16777619);
  return (sum >>> 0).toString(36);
}

function note(key, at) {
  if (sights.value[key] >= at) return;
  const { [key]: _, ...rest } = sights.value;
  const next = Object.fromEntries([...Object.entries(rest).slice(1 - room), [key, at]]);
  sights.set(next);
  store("seen", JSON.stringify(next));
}

// look stores when an instance was first seen: older messages are not unread.
export function look(instance) {
  if (!sights.value[sumOf(instance)]) note(sumOf(instance), Math.floor(Date.now() / 1000));
}

// saw marks a chat as shown up to its last message.
export const saw = (instance, { jid, lastMessage }) =>
  lastMessage && note(sumOf(instance, jid), lastMessage.messageTimestamp);

// isUnread reports whether a chat has a message of others that was not shown.
export function isUnread(instance, { jid, lastMessage }) {
  const since = sights.value[sumOf(instance, jid)] ?? sights.value[sumOf(instance)];
  return !!lastMessage && !lastMessage.keyFromMe && since !== undefined && lastMessage.messageTimestamp > since;
}
