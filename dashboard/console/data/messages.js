// What stored messages say, whatever their kind, and who they are from. All of it
// comes from strangers.
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
