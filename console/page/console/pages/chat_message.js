// A message of a chat with its file and what can be done with it.
import { Component } from "preact";
import { useEffect, useState } from "preact/hooks";
import { get, instancePath } from "../data/api.js";
import { said, senderOf } from "../data/messages.js";
import { save, statusOf, typeOf } from "../data/talk.js";
import { html } from "../html.js";
import { Menu } from "../ui/float.js";
import { Icon } from "../ui/icon.js";
import { Button, copyText, troubleOf } from "../ui/parts.js";
import { bytes, clock, moment, t } from "../words.js";

const long = 1500; // characters shown of a long text
const emoji = ["👍", "❤️", "😂", "😮", "😢", "🙏"];

// Ticks shows the delivery status of an own message: an icon and a text.
export function Ticks({ message }) {
  const status = message.failed ? "server_error" : message.sending ? "sending" : statusOf(message);
  const word = t("tick." + status);
  const tone = status === "server_error" ? "bad" : /read|played/.test(status) ? "wait" : "off";
  return html`<span class=${"tick " + tone} title=${word}
    ><${Icon}
      name=${{ server_error: "triangle", sending: "clock", sent: "check", unknown: "check" }[status] || "ticks"}
    /><span class="unseen">${word}</span></span
  >`;
}

// Message is redrawn only when its properties change.
export class Message extends Component {
  shouldComponentUpdate(next) {
    return Object.keys(next).some(
      (name) => next[name] !== this.props[name] && !(name === "more" && same(next.more, this.props.more)),
    );
  }

  render(given) {
    return html`<${Bubble} ...${given} />`;
  }
}

const same = (a, b) =>
  a === b ||
  (!!a && !!b && a.edit === b.edit && a.revoked === b.revoked && [...a.reactions].join() === [...b.reactions].join());

function Bubble({ message, more, at, active, first, dated }) {
  const { answer, drop, react, group, can, setActive } = at.current;
  const [whole, setWhole] = useState(false);
  const [trouble, setTrouble] = useState(null);
  const content = said(more?.edit || message),
    sent = message.keyFromMe,
    real = !message.sending && !message.failed;
  const text = whole || content.text.length <= long ? content.text : content.text.slice(0, long) + "…";
  const reactions = [...(more?.reactions || [])];
  const give = (reaction) => {
    setTrouble(null);
    react(message, reaction).catch(setTrouble);
  };
  /** @type {any[]} */
  const items = [
    can.send && { word: t("message.reply"), icon: "left", act: () => answer(message) },
    content.text && { word: t("message.copy"), icon: "copy", act: () => copyText(content.text).catch(setTrouble) },
    can.send &&
      reactions.some(([who]) => who === "me") && { word: t("message.unreact"), icon: "close", act: () => give("") },
  ].filter(Boolean);
  if (can.send) items.push(null, ...emoji.map((one) => ({ word: one, act: () => give(one) })));
  return html`<li
    class=${"message" + (sent ? " sent" : "") + (first ? " first" : "")}
    data-id=${String(message.id)}
    tabindex=${active ? 0 : -1}
    onFocusIn=${() => setActive?.(message.id)}
    onPointerEnter=${() => setActive?.(message.id)}
  >
    <div class=${"bubble" + (message.failed ? " failed" : "")}>
      ${group && first && !sent && html`<p class="sender"><bdi class="one-line">${senderOf(message)}</bdi></p>`}
      <p class="unseen">${sent ? t("message.mine") : senderOf(message)}</p>
      ${content.quoted &&
      html`<blockquote>
        ${content.quoted.kind !== "text" && html`<em>${t("message." + content.quoted.kind)} </em>`}<span dir="auto"
          >${content.quoted.text.slice(0, 300)}</span
        >
      </blockquote>`}
      ${more?.revoked
        ? html`<p class="quiet">${t("message.revoked")}</p>`
        : html`${content.file &&
          html`<${Attached} content=${content} message=${message} at=${at} real=${real} />`}${!content.file &&
          content.kind !== "text" &&
          html`<p class="quiet">
            ${t("message." + content.kind)}${content.kind === "other" &&
            html` <span class="mono">${String(content.type).slice(0, 60)}</span>`}
          </p>`}${text && html`<p class="text" dir="auto">${linked(text)}</p>`}${text !== content.text &&
          html`<${Button}
            kind="bare small"
            word=${t("message.whole")}
            act=${() => {
              setWhole(true);
            }}
          />`}`}
      <p class="meta">
        ${more?.edit && html`<span>${t("message.edited")}</span>`}<time
          title=${moment((message.messageTimestamp || 0) * 1000)}
          >${dated
            ? moment((message.messageTimestamp || 0) * 1000)
            : clock((message.messageTimestamp || 0) * 1000, false)}</time
        >${sent && html`<${Ticks} message=${message} />`}
      </p>
      ${(message.failed || trouble) &&
      html`<div class="wrong" role="alert">
        <p>${troubleOf(message.failed || trouble)}</p>
        ${message.failed &&
        html`<div class="buttons">
          <${Button} kind="small" icon="restart" word=${t("again")} act=${message.again} /><${Button}
            kind="small bare"
            word=${t("message.drop")}
            act=${() => {
              drop(message.id);
            }}
          />
        </div>`}
      </div>`}
      ${reactions.length > 0 &&
      html`<p class="reactions">
        <span class="unseen">${t("message.reactions")} </span>${reactions.map(
          ([who, what]) => html`<span key=${who}>${what}</span>`,
        )}
      </p>`}
    </div>
    ${active &&
    real &&
    items.length > 0 &&
    html`<${Menu} word=${t("message.actions")} items=${items} kind="bare square small" />`}
  </li>`;
}

// linked returns a text with its links, of http and https only.
function linked(text) {
  return text.split(/(\bhttps?:\/\/[^\s<>"\p{Cc}\p{Cf}]+)/iu).map((part, i) => {
    if (i % 2 === 0) return part;
    const [, address, rest] = /^(.*?)([.,;:!?)\]}'’”]*)$/.exec(part);
    if (!URL.canParse(address) || !/^https?:$/.test(new URL(address).protocol)) return part;
    return [html`<a href=${address} target="_blank" rel="noopener noreferrer">${address}</a>`, rest];
  });
}

// Attached is the file of a message. It is fetched only on request, since it comes from WhatsApp
// and may be large.
function Attached({ content, message, at, real }) {
  const { name, can, loaded } = at.current;
  const [url, setUrl] = useState(message.local || "");
  const [error, setError] = useState(null);
  useEffect(
    () => () => {
      if (url && url !== message.local) URL.revokeObjectURL(url);
    },
    [url],
  );
  const type = typeOf(content.file.mimetype),
    size = Number(content.file.fileLength) || 0;
  const fetched = async () => {
    setError(null);
    for (let tries = 0; ; tries++) {
      try {
        return await get(instancePath(name) + "/messages/" + message.id + "/media", { as: "blob", patience: 120000 });
      } catch (reason) {
        if (reason.code !== "MEDIA_PENDING" || !reason.until || tries === 10) return void setError(reason);
        await new Promise((done) => setTimeout(done, reason.until - Date.now())); // it is being fetched
      }
    }
  };
  const show = async () => {
    const blob = await fetched();
    if (blob) setUrl(URL.createObjectURL(new Blob([blob], { type }))); // not the type that the sender declares
  };
  const keep = async () => {
    const blob = await fetched();
    if (blob) save(content.name || content.kind + "-" + message.id + "." + (type.split("/")[1] || "bin"), blob);
  };
  const label = [content.name && content.name.slice(0, 120), size && bytes(size)].filter(Boolean).join(" · ");
  const media =
    url &&
    (type.startsWith("image/")
      ? html`<img src=${url} alt=${content.text || t("message." + content.kind)} onLoad=${loaded} />`
      : type.startsWith("audio/")
        ? html`<audio src=${url} controls aria-label=${t("message." + content.kind)}></audio>`
        : type.startsWith("video/")
          ? html`<video
              src=${url}
              controls
              playsinline
              aria-label=${t("message." + content.kind)}
              onLoadedMetadata=${loaded}
            ></video>`
          : null);
  const small = !url && thumbnail(content.file.jpegThumbnail);
  return html`<div class=${"file " + content.kind}>
    ${media || (small && html`<img class="small" src=${small} alt="" />`)}
    ${!media &&
    html`<p class="file-name">
      <${Icon} name=${{ audio: "play", voice: "mic", document: "docs" }[content.kind] || "picture"} /><span
        ><strong>${t("message." + content.kind)}</strong>${label && html`<bdi class="quiet">${label}</bdi>`}</span
      >
    </p>`}
    ${error && html`<p class="wrong" role="alert">${troubleOf(error)}</p>`}
    ${real &&
    can.media &&
    html`<div class="buttons">
      ${type &&
      !url &&
      html`<${Button}
        kind="small"
        icon=${/audio|video/.test(type) ? "play" : "picture"}
        word=${t(/audio|video/.test(type) ? "message.play" : "message.show")}
        act=${show}
      />`}<${Button} kind="small bare" icon="save" word=${t("message.save")} act=${keep} />
    </div>`}
  </div>`;
}

// thumbnail returns the preview of a message, if it is a JPEG.
function thumbnail(text) {
  return typeof text === "string" && text.length < 200000 && /^\/9j\/[A-Za-z0-9+/]+=*$/.test(text)
    ? "data:image/jpeg;base64," + text
    : "";
}
