// A new batch: recipients, message, schedule. Numbers are validated here and optionally checked
// with WhatsApp before the batch is created.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { call, get, instancePath } from "../data/api.js";
import { as, columnOf, listOf, maxFile, most, once, sorted, tableOf, uuid } from "../data/talk.js";
import { useCell } from "../data/cell.js";
import { keep } from "../data/drafts.js";
import { fleet, loadFleet } from "../data/fleet.js";
import { useKept } from "../data/loaded.js";
import { can, session } from "../data/session.js";
import { groupFor } from "../data/states.js";
import { html } from "../html.js";
import { go, to } from "../router.js";
import { toast, useTitle } from "../ui/float.js";
import { Icon } from "../ui/icon.js";
import { Button, Check, Choice, Field, Meter, Select, State, Text, Trouble } from "../ui/parts.js";
import { compare, many, number, t } from "../words.js";

const aPage = 100; // numbers per request

export function NewBatch({ owner }) {
  useTitle(t("batches.new"), t("nav.batches"));
  const { operator } = useCell(session);
  const { rows: all } = useCell(fleet);
  const rows = useMemo(() => all.length ? all : (session.value.key?.instances || []).filter((one) => one !== "*").map((name) => ({ name, description: "" })), [all]);
  useEffect(() => { if (!fleet.value.at && can("read")) loadFleet().catch(() => {}); }, []);
  const [form, setForm, sent] = useKept("/batches/new", { user: owner, name: "", type: "text", text: "", media: "", kind: "image", instances: [], min: "3", max: "9", skip: true, typing: false, start: true, when: "now", from: "", to: "", leaveOut: true });
  const put = (part) => setForm((before) => ({ ...before, ...part }));
  const [list, setList] = useState({ numbers: [], again: [], national: [], wrong: [] });
  const [missing, setMissing] = useState(new Set()); // not on WhatsApp, of those checked
  const [wrong, setWrong] = useState({});
  const [error, setError] = useState(null);
  const key = useRef(once());
  const box = useRef(null);
  useEffect(() => { key.current = once(); }, [form, list]); // another batch
  const recipients = useMemo(() => form.leaveOut ? list.numbers.filter((one) => !missing.has(one)) : list.numbers, [list, missing, form.leaveOut]);

  const create = async () => {
    const bad = check(form, recipients, operator);
    setWrong(bad);
    setError(null);
    if (Object.keys(bad).length) return void setTimeout(() => box.current?.querySelector("[aria-invalid=true], .wrong")?.scrollIntoView({ block: "center" }) || box.current?.querySelector("[aria-invalid=true]")?.focus());
    try {
      const made = await call("POST", "/message/batches", bodyOf(form, recipients), { patience: 120000, headers: { "Idempotency-Key": key.current, ...as(form.user).headers } });
      sent();
      keep("/batches/new/numbers");
      toast(many("new.done", made.counts.total));
      go(["batches", made.id], { user: operator && made.ownerUserId });
    } catch (reason) {
      setError(reason);
    }
  };
  return html`<div class="page-head"><div><a class="crumb" href=${to(["batches"])}><${Icon} name="left"/>${t("nav.batches")}</a><h1 tabindex="-1">${t("batches.new")}</h1><p class="lead">${t("new.lead")}</p></div></div>
    <div class="stack new-batch" ref=${box}>
      ${operator && html`<section class="card"><header><h2>${t("new.user")}</h2><p>${t("new.userAbout")}</p></header><${User} value=${form.user} on=${(user) => put({ user })} wrong=${wrong.user}/></section>`}
      <${Recipients} list=${list} on=${(found) => { setList(found); setMissing(new Set()); }} wrong=${wrong.recipients}/>
      <section class="card"><header><h2>${t("new.message")}</h2><p>${t("new.messageAbout")}</p></header><div class="form">
        <${Choice} label=${t("new.type")} value=${form.type} on=${(type) => put({ type })} options=${[["text", t("new.text")], ["media", t("new.media")]]}/>
        ${form.type === "media" && html`<div class="row"><${Select} label=${t("new.kind")} value=${form.kind} on=${(kind) => put({ kind })} options=${["image", "video", "document", "audio"].map((one) => [one, t("message." + one)])}/>
          <${Text} label=${t("new.url")} help=${t("new.urlHelp")} wrong=${wrong.media} value=${form.media} on=${(media) => put({ media })} kind="code" placeholder="https://"/></div>`}
        ${!(form.type === "media" && form.kind === "audio") && html`<${Field} label=${t(form.type === "text" ? "new.text" : "compose.caption")} wrong=${wrong.text}>${(ties) => html`<textarea class="input" rows="4" maxlength="65536" dir="auto" value=${form.text} onInput=${(event) => put({ text: event.target.value })} ...${ties}></textarea>`}<//>`}</div></section>
      <section class="card"><header><h2>${t("new.how")}</h2></header><div class="form">
        <${Text} label=${t("new.name")} help=${t("new.nameHelp")} wrong=${wrong.name} value=${form.name} on=${(name) => put({ name })} maxlength="255"/>
        <${Instances} rows=${rows} value=${form.instances} on=${(instances) => put({ instances })} wrong=${wrong.instances}/>
        <fieldset><legend class="label">${t("new.delay")}</legend><p class="quiet">${t("new.delayHelp")}</p><div class="row"><${Text} label=${t("limits.min")} wrong=${wrong.delay} inputmode="decimal" value=${form.min} on=${(min) => put({ min })}/><${Text} label=${t("limits.max")} inputmode="decimal" value=${form.max} on=${(max) => put({ max })}/></div></fieldset>
        <fieldset><legend class="label">${t("new.when")}</legend><${Choice} label=${t("new.when")} value=${form.when} on=${(when) => put({ when })} options=${[["now", t("new.now")], ["once", t("new.once")], ["daily", t("new.daily")]]}/>
          ${form.when !== "now" && html`<div class="row after">${[["from", "limits.from"], ["to", "limits.to"]].map(([name, word]) => html`<${Text} key=${name} type="datetime-local" label=${t(word)} wrong=${name === "from" ? wrong.when : undefined} value=${form[name]} on=${(value) => put({ [name]: value })}/>`)}</div><p class="help quiet">${t(form.when === "daily" ? "new.dailyHelp" : "new.onceHelp", { zone: zone() })}</p>`}</fieldset>
        <div><${Check} label=${t("new.skip")} help=${t("new.skipHelp")} value=${form.skip} on=${(skip) => put({ skip })}/>
          <${Check} label=${t("new.typing")} value=${form.typing} on=${(typing) => put({ typing })}/>
          <${Check} label=${t("new.start")} help=${t("new.startHelp")} value=${form.start} on=${(start) => put({ start })}/></div></div></section>
      <${DryRun} list=${list} missing=${missing} on=${setMissing} leaveOut=${form.leaveOut} leave=${(leaveOut) => put({ leaveOut })} names=${form.instances} rows=${rows}/>
      ${error && html`<${Trouble} error=${error}/>`}
      <div class="buttons last"><${Button} kind="first" icon=${form.start ? "deliveries" : "check"} word=${!recipients.length ? t("batches.new") : form.start ? many("new.do", recipients.length) : many("new.draft", recipients.length)} disabled=${!recipients.length} act=${create}/><a class="button bare" href=${to(["batches"])}>${t("cancel")}</a></div></div>`;
}

const zone = () => Intl.DateTimeFormat().resolvedOptions().timeZone || "UTC";

// check returns the errors by field.
function check(form, recipients, operator) {
  const min = Number(form.min.replace(",", ".")), max = Number(form.max.replace(",", "."));
  const wrong = {
    user: operator && !uuid.test(form.user) && t("new.wrongUser"),
    recipients: recipients.length > most && t("new.wrongMany", { n: number(most) }),
    text: form.type === "text" && !form.text.trim() && t("new.wrongText"),
    media: form.type === "media" && !/^https?:\/\/\S+$/.test(form.media.trim()) && t("endpoints.wrongUrl"),
    name: !form.name.trim() && t("new.wrongName"),
    instances: !form.instances.length && t("new.wrongInstances"),
    delay: !(min >= 0 && max >= min && max <= 86400) && t("new.wrongDelay"),
    when: form.when !== "now" && !(form.from && form.to && form.to > form.from) && t("new.wrongWhen"),
  };
  return Object.fromEntries(Object.entries(wrong).filter(([, text]) => text));
}

function bodyOf(form, recipients) {
  const caption = form.text.trim() && form.kind !== "audio" ? { caption: form.text } : {};
  const ms = (text) => Math.round(Number(text.replace(",", ".")) * 1000);
  return {
    name: form.name.trim(), instances: form.instances, recipients,
    message: form.type === "text" ? { type: "text", payload: { text: form.text } } : { type: "media", payload: { mediatype: form.kind, media: form.media.trim(), ...caption } },
    options: { delay: { minMs: ms(form.min), maxMs: ms(form.max) }, skipUnregistered: form.skip, ...(form.typing && { presence: "composing" }) },
    autoStart: form.start,
    ...(form.when !== "now" && { schedule: { windowStartAt: new Date(form.from).toISOString(), windowEndAt: new Date(form.to).toISOString(), recurrence: form.when === "daily" ? "DAILY" : "NONE", timezone: zone() } }),
  };
}

// User selects the owner of the batch and suggests users with batches.
function User({ value, on, wrong }) {
  const [known, setKnown] = useState([]);
  useEffect(() => {
    get(listOf({ limit: 100 })).then((page) => {
      const all = [...new Set(page.records.map((one) => one.ownerUserId))];
      setKnown(all);
      if (!value && all.length) on(all[0]);
    }, () => {}); // then the user types it
  }, []);
  const fresh = () => on(once().replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12})$/, "$1-$2-4$3-8$4-$5"));
  return html`<div class="with-button end"><${Text} label=${t("batches.user")} wrong=${wrong} value=${value} on=${(text) => on(text.trim())} kind="code" list="known-users"/><datalist id="known-users">${known.map((one) => html`<option key=${one} value=${one}/>`)}</datalist><${Button} word=${t("new.freshUser")} act=${() => { fresh(); }}/></div>`;
}

// Recipients edits the numbers: pasted, dropped or from a file, with a choice of the column.
function Recipients({ list, on, wrong }) {
  const [text, setText] = useKept("/batches/new/numbers", "");
  const [column, setColumn] = useState(0);
  const [file, setFile] = useState("");
  const [trouble, setTrouble] = useState("");
  const picker = useRef(null);
  const latest = useRef({});
  const table = useMemo(() => tableOf(text), [text]);
  const wide = useMemo(() => table.reduce((n, row) => Math.max(n, row.length), 0), [table]);
  const tabled = wide > 1 && !table.every((row) => row.every((cell) => !cell || /^[+\d()./\s-]{7,}$/.test(cell)));
  useEffect(() => { setColumn(columnOf(table)); }, [table]);
  latest.current.on = on;
  useEffect(() => {
    const timer = setTimeout(() => latest.current.on(sorted(table, tabled ? column : -1)), 150);
    return () => clearTimeout(timer);
  }, [table, column, tabled]);
  const take = async (chosen) => {
    setTrouble("");
    if (!chosen) return;
    if (chosen.size > maxFile) return setTrouble(t("new.wrongFile"));
    setFile(chosen.name);
    setText(await chosen.text());
  };
  const drop = (event) => {
    if (!event.dataTransfer.files.length) return;
    event.preventDefault();
    take(event.dataTransfer.files[0]);
  };
  const head = table[0] || [];
  return html`<section class="card" onDragOver=${(event) => event.preventDefault()} onDrop=${drop}><header><h2>${t("new.who")}</h2><p>${t("new.whoAbout")}</p></header><div class="form">
    ${file ? html`<div class="with-button file-chosen"><span class="one-line"><bdi>${file}</bdi> <span class="quiet">${many("new.lines", table.length)}</span></span><${Button} kind="small" icon="close" word=${t("new.noFile")} act=${() => { setFile(""); setText(""); }}/></div>` :
      html`<${Field} label=${t("new.numbers")} help=${t("new.numbersHelp")} wrong=${wrong || trouble}>${(ties) => html`<textarea class="input code" rows="6" spellcheck=${false} placeholder=${"+49 151 1234567\n+351 912 345 678"} value=${text} onInput=${(event) => setText(event.target.value)} ...${ties}></textarea>`}<//>
        <div class="buttons"><input type="file" hidden accept=".csv,.txt,.tsv,text/csv,text/plain" ref=${picker} onChange=${(event) => { take(event.target.files[0]); event.target.value = ""; }}/><${Button} kind="small" icon="docs" word=${t("new.file")} act=${() => { picker.current.click(); }}/></div>`}
    ${tabled && html`<${Select} label=${t("new.column")} value=${String(column)} on=${(value) => setColumn(Number(value))} options=${Array.from({ length: Math.min(wide, 50) }, (_, i) => [String(i), number(i + 1) + ": " + (head[i] || "").slice(0, 40)])}/>
      <div class="scrolled as-table" tabindex="0" role="region" aria-label=${t("new.preview")}><table><tbody>${table.slice(0, 6).map((row, y) => html`<tr key=${y}>${Array.from({ length: Math.min(wide, 12) }, (_, x) => html`<td key=${x} class=${x === column ? "on" : ""}><bdi>${(row[x] || "").slice(0, 80)}</bdi></td>`)}</tr>`)}</tbody></table></div>`}
    ${text.trim() && html`<div class="sums" role="status"><p class=${"state " + (list.numbers.length ? "good" : "off")}><${Icon} name=${list.numbers.length ? "good" : "off"}/><span>${many("new.good", list.numbers.length)}</span></p>
      ${list.again.length > 0 && html`<${Left} tone="off" key="again" word=${many("new.again", list.again.length)} list=${list.again}/>`}
      ${list.national.length > 0 && html`<${Left} tone="bad" key="national" word=${many("new.national", list.national.length)} list=${list.national}/>`}
      ${list.wrong.length > 0 && html`<${Left} tone="bad" key="wrong" word=${many("new.wrong", list.wrong.length)} list=${list.wrong}/>`}</div>`}</div></section>`;
}

// Left shows the ignored lines and their numbers.
const Left = ({ tone, word, list }) => html`<details class=${tone}><summary><span class=${"state " + tone}><${Icon} name=${tone}/><span>${word}</span></span></summary>
  <ul class="left-out">${list.slice(0, 100).map((one) => html`<li key=${one.line + one.text}><span class="quiet figures">${number(one.line)}</span> <bdi class="mono one-line">${one.text.slice(0, 120) || "–"}</bdi></li>`)}${list.length > 100 && html`<li class="quiet">…</li>`}</ul></details>`;

// Instances selects the sending instances. Of a long list only the matches are drawn.
function Instances({ rows, value, on, wrong }) {
  const [wanted, setWanted] = useState("");
  const shown = useMemo(() => rows.filter((row) => (row.name + " " + row.description).toLowerCase().includes(wanted.trim().toLowerCase()))
    .sort((a, b) => (groupFor(b.connectionStatus) === "good") - (groupFor(a.connectionStatus) === "good") || compare()(a.name, b.name)), [rows, wanted]);
  const put = (names, is) => on(is ? [...new Set([...value, ...names])] : value.filter((one) => !names.includes(one)));
  return html`<fieldset class="flags"><legend class="label">${t("batch.instances")} <span class="quiet figures">${t("flags.set", { n: number(value.length), of: number(rows.length) })}</span></legend><p class="quiet">${t("new.instancesHelp")}</p>
    ${rows.length > 8 && html`<div class="flags-head"><div class="with-icon"><${Icon} name="search"/><input class="input" type="search" placeholder=${t("instances.search")} aria-label=${t("instances.search")} value=${wanted} onInput=${(event) => setWanted(event.target.value)}/></div>
      <div class="buttons"><${Button} kind="small" word=${t("flags.all")} act=${() => { put(shown.map((row) => row.name), true); }}/><${Button} kind="small" word=${t("flags.none")} act=${() => { put(shown.map((row) => row.name), false); }}/></div></div>`}
    <div class="flags-list">${shown.slice(0, 60).map((row) => html`<${Check} key=${row.name} value=${value.includes(row.name)} on=${(is) => put([row.name], is)} label=${html`<span class="one-line">${row.name}</span>`} help=${row.connectionStatus && html`<${State} of=${row.connectionStatus}/>`}/>`)}</div>
    ${shown.length > 60 && html`<p class="quiet">${t("new.moreInstances", { n: number(shown.length - 60) })}</p>`}
    ${wrong && html`<p class="wrong" role="alert"><${Icon} name="bad"/>${wrong}</p>`}</fieldset>`;
}

// DryRun checks with WhatsApp which numbers have an account, by one instance, page by page.
function DryRun({ list, missing, on, leaveOut, leave, names, rows }) {
  const [state, setState] = useState(null); // {done, stop} while it runs
  const [asked, setAsked] = useState(0);
  const [error, setError] = useState(null);
  useEffect(() => { setAsked(0); setError(null); }, [list]);
  useEffect(() => () => state?.stop.abort(), [state?.stop]);
  const online = rows.filter((row) => groupFor(row.connectionStatus) === "good").map((row) => row.name);
  const by = names.find((one) => online.includes(one)) || online[0];
  const ask = async () => {
    const stop = new AbortController(), found = new Set(missing);
    setError(null);
    try {
      for (let done = asked < list.numbers.length ? asked : 0; done < list.numbers.length; done += aPage) {
        setState({ done, stop });
        const answers = await call("POST", instancePath(by) + "/chat/is-account", { numbers: list.numbers.slice(done, done + aPage) }, { signal: stop.signal, patience: 60000 });
        for (const one of answers) {
          if (one.exists) found.delete(one.number);
          else found.add(one.number);
        }
        setAsked(Math.min(done + aPage, list.numbers.length));
        on(new Set(found));
      }
    } catch (reason) {
      if (!stop.signal.aborted) setError(reason);
    } finally {
      setState(null);
    }
  };
  if (!can("send")) return null;
  const all = list.numbers.length, gone = [...missing].filter(Boolean);
  return html`<section class="card"><header><h2>${t("dry.title")}</h2><p>${t("dry.about")}</p></header>
    <div class="form">${state ? html`<div class="asking"><${Meter} used=${state.done} of=${all} label=${t("dry.title")}/><div class="between"><p class="figures quiet" role="status">${t("batch.of", { done: number(state.done), of: number(all) })}</p><${Button} kind="small" word=${t("cancel")} act=${() => { state.stop.abort(); }}/></div></div>` :
      html`<div class="buttons"><${Button} icon="search" word=${asked > 0 && asked < all ? t("dry.on") : all ? many("dry.do", all) : t("dry.title")} disabled=${!all || !by} act=${() => { ask(); }}/><span class="quiet">${by ? t("dry.by", { name: by }) : t("dry.offline")}</span></div>`}
      ${error && html`<${Trouble} error=${error}/>`}
      ${asked > 0 && html`<div class="sums" role="status"><p class="state good"><${Icon} name="good"/><span>${many("dry.there", asked - gone.length)}</span></p>
        ${gone.length > 0 && html`<${Left} tone="bad" key="gone" word=${many("dry.missing", gone.length)} list=${gone.map((text) => ({ text, line: list.numbers.indexOf(text) + 1 })).slice(0, 101)}/><${Check} label=${t("dry.leave")} value=${leaveOut} on=${leave}/>`}</div>`}</div></section>`;
}
