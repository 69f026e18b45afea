// A new batch in steps: recipients, message, options, and a last page with the server's dry run.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { call } from "../data/api.js";
import { as, filledIn, most, once, sheetOf, sorted, tableOf, usedIn, uuid } from "../data/talk.js";
import { useCell } from "../data/cell.js";
import { fleet, loadFleet } from "../data/fleet.js";
import { useKept } from "../data/loaded.js";
import { can, session } from "../data/session.js";
import { html } from "../html.js";
import { go, to } from "../router.js";
import { toast, useTitle } from "../ui/float.js";
import { Icon } from "../ui/icon.js";
import { Button, Check, Choice, Field, Loading, Select, Text, Trouble } from "../ui/parts.js";
import { listed, many, number, span, t } from "../words.js";
import { Options, times, zone } from "./batch_new_how.js";
import { Left, Recipients, Sums, Title, codeOf, steps } from "./batch_new_who.js";

const names = Object.keys(steps),
  end = names.length - 1;
const begin = {
  user: "",
  name: "",
  type: "text",
  text: "",
  media: "",
  kind: "image",
  instances: [],
  min: "3",
  max: "9",
  skip: true,
  typing: false,
  start: true,
  when: "now",
  from: "",
  to: "",
  leaveOut: true,
  column: null,
  country: "",
};

export function NewBatch({ owner, step }) {
  useTitle(t("batches.new"), t("nav.batches"));
  const { operator } = useCell(session);
  const { rows: all } = useCell(fleet);
  const rows = useMemo(
    () =>
      all.length
        ? all
        : (session.value.key?.instances || []).filter((one) => one !== "*").map((name) => ({ name, description: "" })),
    [all],
  );
  useEffect(() => {
    if (!fleet.value.at && can("read")) loadFleet().catch(() => {});
  }, []);
  const [form, setForm, sent] = useKept("/batches/new", { ...begin, user: owner });
  const put = (part) => setForm((before) => ({ ...before, ...part }));
  const [text, setText, sentText] = useKept("/batches/new/numbers", "");
  const [file, setFile] = useState("");
  const type = (text, file = "") => {
    setText(text);
    setFile(file);
    put({ column: null });
  };
  const table = useMemo(() => tableOf(text), [text]);
  const sheet = useMemo(() => sheetOf(table), [table]),
    column = form.column ?? sheet.guess;
  const find = () => sorted(table, sheet.tabled ? column : -1, codeOf(form.country));
  const [list, setList] = useState(find);
  useEffect(() => {
    const timer = setTimeout(() => setList(find()), 150);
    return () => clearTimeout(timer);
  }, [table, column, form.country]);
  /** @type {any} */
  const [trial, setTrial] = useState({}); // the dry run: of what, its value or error
  const missing = useMemo(() => new Set(trial.value?.notOnWhatsApp), [trial.value]);
  const [error, setError] = useState(null);
  const box = useRef(null);
  const wrong = wrongOf(form, list, sheet, operator),
    first = names.findIndex((one) => wrong[one]);
  const last = first < 0 ? end : first,
    here = Math.max(0, Math.min(names.indexOf(step), last));
  const at = (i) => [["batches", "new"], { user: owner, step: names[i] }];
  const shown = useRef(here);
  useEffect(() => {
    if (shown.current === here) return;
    shown.current = here;
    setError(null);
    box.current.querySelector("h2").focus();
    scrollTo(0, 0);
  }, [here]);

  const { start, leaveOut, ...sends } = form;
  const of = useMemo(() => ({}), [JSON.stringify(sends), list]); // stands for what is sent
  const body = useMemo(() => here === end && bodyOf(form, list, sheet), [here, of]);
  const left = useMemo(
    () =>
      body && leaveOut && missing.size
        ? body.recipients.filter((_, i) => !missing.has(list.numbers[i]))
        : body.recipients,
    [body, missing, leaveOut],
  );
  const key = useMemo(once, [left, start]); // another batch
  const ask = async (signal) => {
    setTrial({ of });
    try {
      setTrial({
        of,
        value: await call(
          "POST",
          "/message/batches",
          { ...body, dryRun: true },
          { patience: 120000, signal, ...as(form.user) },
        ),
      });
    } catch (error) {
      if (!signal?.aborted) setTrial({ of, error });
    }
  };
  useEffect(() => {
    if (!body || (trial.of === of && trial.value)) return;
    const stop = new AbortController();
    ask(stop.signal);
    return () => stop.abort();
  }, [body]);
  const create = async () => {
    setError(null);
    try {
      const made = await call(
        "POST",
        "/message/batches",
        { ...body, recipients: left, autoStart: start },
        { patience: 120000, headers: { "Idempotency-Key": key, ...as(form.user).headers } },
      );
      sent();
      sentText();
      toast(many("new.done", made.counts.total));
      go(["batches", made.id], { user: operator && made.ownerUserId });
    } catch (reason) {
      setError(reason);
    }
  };
  return html`<div class="page-head">
      <div>
        <a class="crumb" href=${to(["batches"])}><${Icon} name="left" />${t("nav.batches")}</a>
        <h1 tabindex="-1">${t("batches.new")}</h1>
        <p class="lead">${t("new.lead")}</p>
      </div>
    </div>
    <div class="stack new-batch" ref=${box}>
      <nav class="filters" aria-label=${t("batches.new")}>
        ${names.map(
          (one, i) =>
            html`<a
              key=${one}
              class="filter"
              href=${i > last ? undefined : to(...at(i))}
              aria-current=${i === here ? "step" : undefined}
              ><span class="figures">${number(i + 1)}</span>${t(steps[one])}</a
            >`,
        )}
      </nav>
      ${here === 0 &&
      html`<${Recipients}
        text=${text}
        type=${type}
        file=${file}
        table=${table}
        sheet=${sheet}
        column=${column}
        list=${list}
        form=${form}
        put=${put}
      />`}${here === 1 &&
      html`<${Wording} form=${form} put=${put} list=${list} sheet=${sheet} wrong=${wrong.fields} />`}${here === 2 &&
      html`<${Options} form=${form} put=${put} rows=${rows} operator=${operator} wrong=${wrong.fields} />`}${here ===
        end &&
      html`<${LastLook}
        form=${form}
        put=${put}
        list=${list}
        trial=${trial}
        n=${left.length}
        missing=${missing}
        again=${() => ask()}
      />`}${error && html`<${Trouble} error=${error} />`}
      <div class="buttons last">
        ${here > 0 &&
        html`<${Button}
          icon="left"
          word=${t("new.back")}
          act=${() => {
            go(...at(here - 1));
          }}
        />`}${here < end
          ? html`<${Button}
              key="next"
              kind="first"
              word=${t("new.next")}
              why=${wrong[names[here]]}
              act=${() => {
                go(...at(here + 1));
              }}
            />`
          : html`<${Button}
              key="do"
              kind="first"
              icon=${start ? "deliveries" : "check"}
              word=${start ? many("new.do", left.length) : many("new.draft", left.length)}
              why=${!left.length
                ? t("new.wrongNone")
                : trial.of !== of || (!trial.value && !trial.error)
                  ? t("loading")
                  : ""}
              act=${create}
            />`}<a class="button bare" href=${to(["batches"])}>${t("cancel")}</a>
      </div>
    </div>`;
}

// wrongOf returns why each step is not complete, and the errors of fields that have a value.
function wrongOf(form, { numbers }, sheet, operator) {
  const min = Number(form.min.replace(",", ".")),
    max = Number(form.max.replace(",", "."));
  const unknown =
    sheet.tabled && usedIn(form.text).find(([name, optional]) => !optional && !sheet.names.includes(name));
  const media = form.type === "media" && !/^https?:\/\/\S+$/.test(form.media.trim()) && t("endpoints.wrongUrl");
  const delay = !(min >= 0 && max >= min && max <= 86400) && t("new.wrongDelay");
  const when = form.when !== "now" && !(form.from && form.to && form.to > form.from) && t("new.wrongWhen");
  const user = operator && !uuid.test(form.user) && t("new.wrongUser");
  const text = unknown && t("new.wrongColumn", { name: unknown[0] });
  return {
    who: !numbers.length ? t("new.wrongNone") : numbers.length > most && t("new.wrongMany", { n: number(most) }),
    what: media || (form.type === "text" && !form.text.trim() ? t("new.wrongText") : text),
    how: !form.name.trim()
      ? t("new.wrongName")
      : !form.instances.length
        ? t("new.wrongInstances")
        : delay || when || user,
    fields: { text, media: form.media && media, delay, when: form.from && form.to && when, user: form.user && user },
  };
}

// values returns what a row has for the variables of a text.
const values = (text, { names }, row) =>
  Object.fromEntries(
    usedIn(text)
      .filter(([name]) => names.includes(name))
      .map(([name]) => [name, row[names.indexOf(name)] || ""]),
  );

// templated reports whether the text has columns. Without a table it is sent as it is.
const templated = (text, sheet) => sheet.tabled && text.includes("{{");

function bodyOf(form, list, sheet) {
  const caption = form.text.trim() && form.kind !== "audio" ? { caption: form.text } : {};
  const ms = (text) => Math.round(Number(text.replace(",", ".")) * 1000);
  return {
    name: form.name.trim(),
    instances: form.instances,
    recipients: templated(form.text, sheet)
      ? list.numbers.map((number, i) => ({ number, variables: values(form.text, sheet, list.from[i]) }))
      : list.numbers,
    message:
      form.type === "text"
        ? { type: "text", payload: { text: form.text } }
        : { type: "media", payload: { mediatype: form.kind, media: form.media.trim(), ...caption } },
    options: {
      delay: { minMs: ms(form.min), maxMs: ms(form.max) },
      skipUnregistered: form.skip,
      ...(form.typing && { presence: "composing" }),
    },
    ...(form.when !== "now" && {
      schedule: {
        windowStartAt: new Date(form.from).toISOString(),
        windowEndAt: new Date(form.to).toISOString(),
        recurrence: form.when === "daily" ? "DAILY" : "NONE",
        timezone: zone(),
      },
    }),
  };
}

// Wording edits what is sent, shows columns to insert, and what the first three get.
function Wording({ form, put, list, sheet, wrong }) {
  const box = useRef(null);
  const insert = async (name) => {
    const area = box.current.querySelector("textarea"),
      { selectionStart: from, selectionEnd: until } = area;
    put({ text: form.text.slice(0, from) + "{{" + name + "}}" + form.text.slice(until) });
    setTimeout(() => {
      area.focus();
      area.selectionStart = area.selectionEnd = from + name.length + 4;
    });
  };
  const silent = form.type === "media" && form.kind === "audio";
  return html`<section class="card" ref=${box}>
    <${Title} of="what" />
    <div class="form">
      <${Choice}
        label=${t("new.type")}
        value=${form.type}
        on=${(type) => put({ type })}
        options=${[
          ["text", t("new.text")],
          ["media", t("new.media")],
        ]}
      />
      ${form.type === "media" &&
      html`<div class="row">
        <${Select}
          label=${t("new.kind")}
          value=${form.kind}
          on=${(kind) => put({ kind })}
          options=${["image", "video", "document", "audio"].map((one) => [one, t("message." + one)])}
        />
        <${Text}
          label=${t("new.url")}
          help=${t("new.urlHelp")}
          wrong=${wrong.media}
          value=${form.media}
          on=${(media) => put({ media })}
          kind="code"
          placeholder="https://"
        />
      </div>`}
      ${!silent &&
      html`<${Field}
          label=${t(form.type === "text" ? "new.text" : "compose.caption")}
          help=${sheet.tabled && t("new.columnsHelp")}
          wrong=${wrong.text}
          >${(ties) =>
            html`<textarea
              class="input"
              rows="4"
              maxlength="65536"
              dir="auto"
              value=${form.text}
              onInput=${(event) => put({ text: event.target.value })}
              ...${ties}
            ></textarea>`}<//
        >
        ${sheet.tabled &&
        html`<div class="buttons">
            ${sheet.names.slice(0, 24).map(
              (name) =>
                html`<${Button}
                  key=${name}
                  kind="small"
                  word=${"{{" + name + "}}"}
                  act=${() => {
                    insert(name);
                  }}
                />`,
            )}
          </div>
          <${Examples}
            all=${list.numbers.slice(0, 3).map((recipient, i) => ({
              recipient,
              text: templated(form.text, sheet)
                ? filledIn(form.text, values(form.text, sheet, list.from[i]))
                : form.text,
            }))}
          />`}`}
    </div>
  </section>`;
}

const Examples = ({ all }) =>
  html`<div>
    <h3>${t("new.examples")}</h3>
    <dl class="facts">
      ${all.map(
        ({ recipient, text }, i) =>
          html`<dt key=${i} class="mono">${recipient}</dt>
            <dd><bdi class="said">${text}</bdi></dd>`,
      )}
    </dl>
  </div>`;

// LastLook shows what the batch would be, by the dry run, and what is left out of it.
function LastLook({ form, put, list, trial: { value, error }, n, missing, again }) {
  return html`<section class="card">
    <${Title} of="check">${t("dry.about")}<//>
    <div class="form">
      ${error ? html`<${Trouble} error=${error} again=${again} />` : !value && html`<${Loading} />`}
      <dl class="facts">
        <dt>${t("new.who")}</dt>
        <dd class="figures">${number(n)}</dd>
        ${value &&
        html`<dt>${t("new.takes")}</dt>
          <dd>${span(value.estimatedMs / 1000)}</dd>`}
        <dt>${t("new.when")}</dt>
        <dd>${times().find(([key]) => key === form.when)[1]}</dd>
        <dt>${t("batch.instances")}</dt>
        <dd>${listed(form.instances)}</dd>
      </dl>
      <div class="sums">
        <${Sums} list=${list} />${value?.malformed.length > 0 &&
        html`<${Left}
          tone="bad"
          word=${many("new.wrong", value.malformed.length)}
          list=${value.malformed.map(({ index, input, error }) => ({
            line: list.from[index]?.line,
            text: input + ": " + error,
          }))}
        />`}${value &&
        (value.checked
          ? html`<p class="state good">
              <${Icon} name="good" /><span
                >${many("dry.there", value.checked - missing.size, { of: number(value.checked) })}</span
              >
            </p>`
          : html`<p class="quiet">${t("dry.offline")}</p>`)}${missing.size > 0 &&
        html`<${Left}
            tone="bad"
            word=${many("dry.missing", missing.size)}
            list=${[...missing]
              .slice(0, 101)
              .map((text) => ({ text, line: list.from[list.numbers.indexOf(text)]?.line }))}
          /><${Check} label=${t("dry.leave")} value=${form.leaveOut} on=${(leaveOut) => put({ leaveOut })} />`}
      </div>
      ${value?.examples.length > 0 && html`<${Examples} all=${value.examples} />`}<${Check}
        label=${t("new.start")}
        help=${t("new.startHelp")}
        value=${form.start}
        on=${(start) => put({ start })}
      />
    </div>
  </section>`;
}
