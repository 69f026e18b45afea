// The field in which a message is written, with files and recordings.
import { useEffect, useRef, useState } from "preact/hooks";
import { call } from "../data/api.js";
import { said } from "../data/messages.js";
import { kindOf } from "../data/talk.js";
import { useKept } from "../data/loaded.js";
import { html } from "../html.js";
import { Button, Trouble } from "../ui/parts.js";
import { bytes, span, t } from "../words.js";

const patience = 180000; // milliseconds, for the upload of a large file and its place in the queue
const canRecord = () => !!navigator.mediaDevices?.getUserMedia && typeof MediaRecorder === "function";

// useRecorder records a voice message.
function useRecorder(done, failed) {
  const [since, setSince] = useState(0);
  const [now, setNow] = useState(0);
  const running = useRef(null);
  const end = (keep) => {
    const mine = running.current;
    running.current = null;
    if (!mine) return;
    mine.keep = keep;
    mine.recorder.stop();
    setSince(0);
  };
  useEffect(() => () => end(false), []);
  useEffect(() => {
    if (!since) return;
    const timer = setInterval(() => setNow(Date.now()), 500);
    return () => clearInterval(timer);
  }, [since]);
  const begin = async () => {
    try {
      const stream = await navigator.mediaDevices.getUserMedia({ audio: true });
      const type = ["audio/ogg;codecs=opus", "audio/webm;codecs=opus", "audio/mp4"].find((one) =>
        MediaRecorder.isTypeSupported(one),
      );
      const mine = { recorder: new MediaRecorder(stream, type ? { mimeType: type } : {}), parts: [], keep: false };
      mine.recorder.addEventListener("dataavailable", (event) => mine.parts.push(event.data));
      mine.recorder.addEventListener("stop", () => {
        stream.getTracks().forEach((track) => track.stop());
        const bare = (mine.recorder.mimeType || type || "audio/webm").split(";")[0];
        if (mine.keep) done(new File(mine.parts, "voice." + bare.split("/")[1], { type: bare }));
      });
      mine.recorder.start();
      running.current = mine;
      setNow(Date.now());
      setSince(Date.now());
    } catch {
      failed(new Error(t("compose.noMicrophone")));
    }
  };
  return { since, seconds: Math.max(0, Math.floor((now - since) / 1000)), begin, end };
}

export function Composer({ chat, path, online, send, reply, setReply, field }) {
  const [text, setText] = useKept(path + "/text/" + chat.jid, "");
  const [files, setFiles] = useState([]); // {id, file, voice, url}
  const [over, setOver] = useState(false);
  const [error, setError] = useState(null);
  const picker = useRef(null),
    count = useRef(0);
  const add = (list, voice) => {
    setError(null);
    setFiles((before) =>
      [
        ...before,
        ...[...list].map((file) => ({
          id: ++count.current,
          file,
          voice,
          url: /^(image\/(jpeg|png|webp|gif)|audio\/)/.test(file.type) ? URL.createObjectURL(file) : "",
        })),
      ].slice(0, 10),
    );
    field.current?.focus();
  };
  const take = (one) => {
    if (one.url) URL.revokeObjectURL(one.url);
    setFiles((before) => before.filter((other) => other !== one));
  };
  const recorder = useRecorder((file) => add([file], true), setError);
  useEffect(() => {
    const box = field.current;
    if (!box) return;
    box.style.height = "auto";
    box.style.height = Math.min(box.scrollHeight + 2, 180) + "px";
  }, [text]);

  const go = () => {
    const words = text.trim(),
      id = reply?.id;
    if (!words && !files.length) return;
    const options = id ? { quotedMessageId: id } : undefined;
    const contextInfo = id
      ? { quotedMessage: { conversation: said(reply).text || t("message." + said(reply).kind) } }
      : undefined;
    files.forEach((one, i) => {
      const kind = one.voice ? "voice" : kindOf(one.file),
        caption = i === 0 && /image|video|document/.test(kind) ? words : "";
      const type =
        { image: "imageMessage", video: "videoMessage", document: "documentMessage" }[kind] || "audioMessage";
      send(
        {
          messageType: type,
          content: {
            caption,
            fileName: one.file.name,
            fileLength: one.file.size,
            mimetype: one.file.type,
            ptt: !!one.voice,
            contextInfo,
          },
          local: one.url,
        },
        (headers) => {
          const form = new FormData(); // a new form for each attempt
          form.append("chat", chat.jid);
          if (!one.voice) form.append("mediaType", kind);
          if (caption) form.append("caption", caption);
          if (options) form.append("options", JSON.stringify(options));
          form.append("attachment", one.file, one.file.name || "file");
          return call("POST", path + (one.voice ? "/send/ptt-file" : "/send/media-file"), form, { headers, patience });
        },
      );
    });
    const captioned = files.some((one, i) => i === 0 && !one.voice && /image|video|document/.test(kindOf(one.file)));
    if (words && !captioned)
      send({ messageType: "conversation", content: { text: words, contextInfo } }, (headers) =>
        call(
          "POST",
          path + "/send/text",
          { chat: chat.jid, textMessage: { text: words }, ...(options && { options }) },
          { headers, patience },
        ),
      );
    setText("");
    setFiles([]);
    setReply(null);
    setError(null);
    field.current?.focus();
  };
  useEffect(() => {
    if (!matchMedia("(pointer: coarse)").matches) field.current.focus();
  }, []);
  const keys = (event) => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      go();
    } else if (event.key === "Escape" && reply) setReply(null);
  };
  const dragged = (event) => {
    if (![...event.dataTransfer.types].includes("Files")) return;
    event.preventDefault();
    setOver(event.type === "dragover");
    if (event.type === "drop") add(event.dataTransfer.files);
  };
  // The whole conversation accepts dropped files.
  useEffect(() => {
    const box = field.current?.closest(".talk");
    const names = ["dragover", "dragleave", "drop"];
    names.forEach((name) => box?.addEventListener(name, dragged));
    return () => names.forEach((name) => box?.removeEventListener(name, dragged));
  }, []);
  const pasted = (event) => {
    if (event.clipboardData.files.length) {
      event.preventDefault();
      add(event.clipboardData.files);
    }
  };
  return html`<footer class=${"composer" + (over ? " over" : "")}>
    ${over && html`<p class="drop-here">${t("compose.drop")}</p>`}
    ${!online && html`<p class="quiet" role="status">${t("compose.offline")}</p>`}
    ${reply &&
    html`<div class="replying">
      <div>
        <strong>${t("compose.replying")}</strong
        ><span class="one-line" dir="auto">${said(reply).text.slice(0, 200) || t("message." + said(reply).kind)}</span>
      </div>
      <${Button}
        kind="bare square small"
        icon="close"
        word=${t("compose.noReply")}
        act=${() => {
          setReply(null);
          field.current?.focus();
        }}
      />
    </div>`}
    ${files.length > 0 &&
    html`<ul class="tray">
      ${files.map(
        (one) =>
          html`<li key=${one.id}>
            ${one.url &&
            (one.file.type.startsWith("image/")
              ? html`<img src=${one.url} alt="" />`
              : html`<audio src=${one.url} controls aria-label=${t("message.voice")}></audio>`)}<span class="one-line"
              ><bdi>${one.voice ? t("message.voice") : one.file.name}</bdi>${" "}<span class="quiet"
                >${bytes(one.file.size)}</span
              ></span
            ><${Button}
              kind="bare square small"
              icon="close"
              word=${t("compose.take", { name: one.file.name })}
              act=${() => {
                take(one);
              }}
            />
          </li>`,
      )}
    </ul>`}
    <${Trouble} error=${error} />
    ${recorder.since
      ? html`<div class="compose-row">
          <span class="recording" role="status"
            ><span class="dot"></span>${t("compose.recording", { time: span(recorder.seconds) })}</span
          ><${Button}
            kind="bare"
            word=${t("cancel")}
            act=${() => {
              recorder.end(false);
            }}
          /><${Button}
            kind="first"
            icon="check"
            word=${t("compose.recorded")}
            act=${() => {
              recorder.end(true);
            }}
          />
        </div>`
      : html`<div class="compose-row">
          <input
            type="file"
            multiple
            hidden
            ref=${picker}
            onChange=${(event) => {
              add(event.target.files);
              event.target.value = "";
            }}
          /><${Button}
            kind="bare square"
            icon="clip"
            word=${t("compose.attach")}
            act=${() => {
              picker.current.click();
            }}
          /><textarea
            class="input"
            rows="1"
            ref=${field}
            maxlength="65536"
            dir="auto"
            placeholder=${t(files.length ? "compose.caption" : "compose.text")}
            aria-label=${t(files.length ? "compose.caption" : "compose.text")}
            value=${text}
            onInput=${(event) => setText(event.target.value)}
            onKeyDown=${keys}
            onPaste=${pasted}
          ></textarea
          >${canRecord() && !text && !files.length
            ? html`<${Button} kind="bare square" icon="mic" word=${t("compose.record")} act=${recorder.begin} />`
            : html`<${Button}
                kind="first square"
                icon="deliveries"
                word=${t("compose.send")}
                disabled=${!text.trim() && !files.length}
                act=${() => {
                  go();
                }}
              />`}
        </div>`}
  </footer>`;
}
