// Content, senders and names of stored messages. Their content is untrusted.
import { numberOf } from "./states.js";
import { t } from "../words.js";

// Invisible characters: marks of direction, joiners, controls. A name made only of them is
// empty; within a name they could reorder or hide adjacent text.
const unseen =
  /[\p{Cc}\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b\u200c\u200e\u200f\u202a-\u202e\u2060-\u206f\u3164\ufeff\uffa0]/gu;

export const named = (text) =>
  String(text ?? "")
    .replace(unseen, "")
    .trim();

// chatName returns the name of a chat, or its number or address.
export const chatName = (chat, groups) => named(groups?.get(chat.jid)) || named(chat.name) || numberOf(chat.jid);

// senderOf returns the sender of a group message.
export const senderOf = (message) =>
  named(message.pushName) || numberOf(message.keyParticipant) || numberOf(message.keyRemoteJid);

const files = {
  imageMessage: "image",
  videoMessage: "video",
  ptvMessage: "video",
  audioMessage: "audio",
  documentMessage: "document",
  stickerMessage: "sticker",
  lottieStickerMessage: "sticker",
};

// said splits a message into kind, text, file and quoted. kind is a text key below
// "message.", or "text" for plain text.
export function said(message) {
  const content = message.content || {},
    type = message.messageType || "";
  const file = files[type] || (type === "documentWithCaptionMessage" ? "document" : undefined);
  const quoted = content.contextInfo?.quotedMessage
    ? { id: content.contextInfo.stanzaId, ...quotedOf(content.contextInfo.quotedMessage) }
    : null;
  if (file) {
    const kind = type === "audioMessage" && content.ptt ? "voice" : file;
    return { kind, file: content, text: str(content.caption), name: named(content.fileName || content.title), quoted };
  }
  if (type === "conversation" || type === "extendedTextMessage")
    return { kind: "text", text: str(content.text), quoted };
  if (type === "locationMessage" || type === "liveLocationMessage")
    return {
      kind: "location",
      text: [content.name, content.address, `${content.degreesLatitude ?? ""}, ${content.degreesLongitude ?? ""}`]
        .filter(Boolean)
        .map(str)
        .join("\n"),
      quoted,
    };
  if (type === "contactMessage") return { kind: "contact", text: str(content.displayName), quoted };
  if (type === "contactsArrayMessage")
    return { kind: "contact", text: (content.contacts || []).map((one) => str(one?.displayName)).join("\n"), quoted };
  if (/^pollCreationMessage/.test(type))
    return {
      kind: "poll",
      text: [content.name, ...(content.options || []).map((one) => "· " + str(one?.optionName))].map(str).join("\n"),
      quoted,
    };
  return {
    kind: "other",
    text: str(content.text || content.caption || content.name || content.title || ""),
    type,
    quoted,
  };
}

export const str = (value) => (typeof value === "string" || typeof value === "number" ? String(value) : "");

function quotedOf(quoted) {
  const [type] = Object.keys(quoted),
    value = quoted[type];
  return said({
    messageType: type,
    content: typeof value === "string" ? { text: value } : { ...value, contextInfo: undefined },
  });
}

// about returns the WhatsApp id of the message to which a reaction, edit or deletion
// applies.
export function about(message) {
  if (message.messageType === "reactionMessage") return message.content?.key?.id || "?";
  if (message.metadata?.revoked) return message.metadata.revoked;
  return message.metadata?.editOf || "";
}

// gist returns a message in one line.
export function gist(message) {
  if (!message) return "";
  if (message.messageType === "reactionMessage")
    return t("message.reacted", { reaction: String(message.content?.text || "–").slice(0, 16) });
  if (message.metadata?.revoked) return t("message.revoked");
  const { kind, text, name } = said(message);
  return [kind !== "text" && t("message." + kind), named(text || name).slice(0, 200)].filter(Boolean).join(" · ");
}
