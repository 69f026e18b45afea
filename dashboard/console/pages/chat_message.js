// One message. All of it was written by somebody else: it is shown as text, and a file only
// as what cannot run.
import { Component } from "preact";
import { useEffect, useState } from "preact/hooks";
import { call, instancePath } from "../data/api.js";
import { said, senderOf, statusOf, typeOf } from "../data/messages.js";
import { save } from "../data/numbers.js";
import { html } from "../html.js";
import { Menu } from "../ui/float.js";
import { Icon } from "../ui/icon.js";
import { Button, copyText, troubleOf } from "../ui/parts.js";
import { bytes, clock, moment, t } from "../words.js";

const long = 1500; // characters that are shown of a text until all is wanted
const emoji = ["👍", "❤️", "😂", "😮", "😢", "🙏"];

// Ticks is how far a message of ours came: an icon and a word.
export function Ticks({ message }) {
  const status = message.failed ? "server_error" : message.sending ? "sending" : statusOf(message);
  const word = t("tick." + status);
  const tone = status === "server_error" ? "bad" : /read|played/.test(status) ? "wait" : "off";
  return html`<span class=${"tick " + tone} title=${word}><${Icon} name=${{ server_error: "triangle", sending: "clock", sent: "check", unknown: "check" }[status] || "ticks"}/><span class="unseen">${word}</span></span>`;
}

// Message is drawn again only when something of it changed.
export class Message extends Component {
  shouldComponentUpdate(next) {
    return Object.keys(next).some((name) => next[name] !== this.props[name] && !(name === "more" && same(next.more, this.props.more)));
  }

  render(given) {
    return html`<${Bubble} ...${given}/>`;
  }
}

const same = (a, b) => a === b || !!a && !!b && a.edit === b.edit && a.revoked === b.revoked && [...a.reactions].join() === [...b.reactions].join();

function Bubble({ message, more, at, active, first, dated }) {
  const { answer, drop, react, group, can, setActive } = at.current;
  const [whole, setWhole] = useState(false);
  const [trouble, setTrouble] = useState(null);
  const told = said(more?.edit || message), sent = message.keyFromMe, real = !message.sending && !message.failed;
  const text = whole || told.text.length <= long ? told.text : told.text.slice(0, long) + "…";
  const reactions = [...(more?.reactions || [])];
  const give = (reaction) => {
    setTrouble(null);
    react(message, reaction).catch(setTrouble);
  };
  const items = [
    can.send && { word: t("message.reply"), icon: "left", act: () => answer(message) },
    told.text && { word: t("message.copy"), icon: "copy", act: () => copyText(told.text).catch(setTrouble) },
    can.send && reactions.some(([who]) => who === "me") && { word: t("message.unreact"), icon: "close", act: () => give("") },
  ].filter(Boolean);
  if (can.send) items.push(null, ...emoji.map((one) => ({ word: one, act: () => give(one) })));
  return html`<li class=${"message" + (sent ? " sent" : "") + (first ? " first" : "")} data-id=${String(message.id)} tabindex=${active ? 0 : -1} onFocusIn=${() => setActive?.(message.id)} onPointerEnter=${() => setActive?.(message.id)}>
    <div class=${"bubble" + (message.failed ? " failed" : "")}>
      ${group && first && !sent && html`<p class="sender"><bdi class="one-line">${senderOf(message)}</bdi></p>`}
      <p class="unseen">${sent ? t("message.mine") : senderOf(message)}</p>
      ${told.quoted && html`<blockquote>${told.quoted.kind !== "text" && html`<em>${t("message." + told.quoted.kind)} </em>`}<span dir="auto">${told.quoted.text.slice(0, 300)}</span></blockquote>`}
      ${more?.revoked ? html`<p class="quiet">${t("message.revoked")}</p>` : html`
        ${told.file && html`<${File} told=${told} message=${message} at=${at} real=${real}/>`}
        ${!told.file && told.kind !== "text" && html`<p class="quiet">${t("message." + told.kind)}${told.kind === "other" && html` <span class="mono">${String(told.type).slice(0, 60)}</span>`}</p>`}
        ${text && html`<p class="text" dir="auto">${text}</p>`}
        ${text !== told.text && html`<${Button} kind="bare small" word=${t("message.whole")} act=${() => { setWhole(true); }}/>`}`}
      <p class="meta">${more?.edit && html`<span>${t("message.edited")}</span>`}<time title=${moment((message.messageTimestamp || 0) * 1000)}>${dated ? moment((message.messageTimestamp || 0) * 1000) : clock((message.messageTimestamp || 0) * 1000, false)}</time>${sent && html`<${Ticks} message=${message}/>`}</p>
      ${(message.failed || trouble) && html`<div class="wrong" role="alert"><p>${troubleOf(message.failed || trouble)}</p>${message.failed && html`<div class="buttons"><${Button} kind="small" icon="restart" word=${t("again")} act=${message.again}/><${Button} kind="small bare" word=${t("message.drop")} act=${() => { drop(message.id); }}/></div>`}</div>`}
      ${reactions.length > 0 && html`<p class="reactions"><span class="unseen">${t("message.reactions")} </span>${reactions.map(([who, what]) => html`<span key=${who}>${what}</span>`)}</p>`}
    </div>
    ${active && real && items.length > 0 && html`<${Menu} word=${t("message.actions")} items=${items} kind="bare square small"/>`}</li>`;
}

// File is the file of a message. Nothing is fetched before somebody wants it: WhatsApp is asked
// for it, and it may be large.
function File({ told, message, at, real }) {
  const { name, can, loaded } = at.current;
  const [url, setUrl] = useState(message.local || "");
  const [error, setError] = useState(null);
  useEffect(() => () => { if (url && url !== message.local) URL.revokeObjectURL(url); }, [url]);
  const type = typeOf(told.file.mimetype), size = Number(told.file.fileLength) || 0;
  const fetched = async () => {
    setError(null);
    try {
      return await call("POST", instancePath(name) + "/media/data?binary=true", { id: message.id }, { as: "blob", patience: 120000 });
    } catch (reason) {
      setError(reason);
    }
  };
  const show = async () => {
    const blob = await fetched();
    if (blob) setUrl(URL.createObjectURL(new Blob([blob], { type }))); // not what the sender calls it
  };
  const keep = async () => {
    const blob = await fetched();
    if (blob) save(told.name || told.kind + "-" + message.id + "." + (type.split("/")[1] || "bin"), blob);
  };
  const label = [told.name && told.name.slice(0, 120), size && bytes(size)].filter(Boolean).join(" · ");
  const media = url && (type.startsWith("image/") ? html`<img src=${url} alt=${told.text || t("message." + told.kind)} onLoad=${loaded}/>` :
    type.startsWith("audio/") ? html`<audio src=${url} controls aria-label=${t("message." + told.kind)}></audio>` :
      type.startsWith("video/") ? html`<video src=${url} controls playsinline aria-label=${t("message." + told.kind)} onLoadedMetadata=${loaded}></video>` : null);
  const small = !url && thumbnail(told.file.jpegThumbnail);
  return html`<div class=${"file " + told.kind}>${media || small && html`<img class="small" src=${small} alt=""/>`}
    ${!media && html`<p class="file-name"><${Icon} name=${{ audio: "play", voice: "mic", document: "docs" }[told.kind] || "picture"}/><span><strong>${t("message." + told.kind)}</strong>${label && html`<bdi class="quiet">${label}</bdi>`}</span></p>`}
    ${error && html`<p class="wrong" role="alert">${troubleOf(error)}</p>`}
    ${real && can.media && html`<div class="buttons">${type && !url && html`<${Button} kind="small" icon=${/audio|video/.test(type) ? "play" : "picture"} word=${t(/audio|video/.test(type) ? "message.play" : "message.show")} act=${show}/>`}
      <${Button} kind="small bare" icon="save" word=${t("message.save")} act=${keep}/></div>`}</div>`;
}

// thumbnail is the small picture that a message carries, when it looks like one.
function thumbnail(text) {
  return typeof text === "string" && text.length < 200000 && /^\/9j\/[A-Za-z0-9+/]+=*$/.test(text) ? "data:image/jpeg;base64," + text : "";
}
