// The overview: a sentence, the alerts, charts, figures.
import { useEffect, useMemo, useState } from "preact/hooks";
import { get } from "../data/api.js";
import { useCell } from "../data/cell.js";
import { fleet, loadFleet } from "../data/fleet.js";
import { useLoaded } from "../data/loaded.js";
import { byHour, figures, loadSamples, samples } from "../data/samples.js";
import { can } from "../data/session.js";
import { groupFor, groups, stateOf } from "../data/states.js";
import { loadTroubles, pageOf, troubles } from "../data/troubles.js";
import { html } from "../html.js";
import { to } from "../router.js";
import { Chart } from "../ui/chart.js";
import { useTitle } from "../ui/float.js";
import { Icon } from "../ui/icon.js";
import { Button, Choice, Loading, Trouble, troubleOf } from "../ui/parts.js";
import { ago, bytes, has, listed, many, moment, number, span, t } from "../words.js";

export function Overview() {
  useTitle(t("nav.overview"));
  const { rows, at, error } = useCell(fleet);
  const ring = useCell(samples);
  useEffect(() => {
    if (!ring.at) loadSamples();
    if (!at) loadFleet().catch(() => {});
  }, []);
  const wrong = useCell(troubles),
    minute = useMinute();
  useEffect(() => {
    if (!troubles.value.items) loadTroubles();
  }, []);
  const ready = useReady(),
    cluster = useCluster(ready.role);
  const alerts = useMemo(
    () => alertsOf(rows, ready, cluster, wrong),
    [rows, ready, cluster, wrong, minute, t("alerts.title")],
  );
  if (!at && !error)
    return html`<h1 tabindex="-1" class="unseen">${t("nav.overview")}</h1>
      <${Loading} />`;
  return html`<div class="page-head">
      <div>
        <p class="crumb">${t("nav.overview")}</p>
        <${Sentence} rows=${rows} alerts=${alerts} items=${wrong.items} />${ready.role &&
        html`<p class="lead nodes">${nodesOf(ready, cluster)}</p>`}
      </div>
    </div>
    <div class="stack overview">
      ${error && html`<${Trouble} error=${error} again=${loadFleet} />`}${alerts.length > 0 &&
      html`<section class="card alerts" aria-label=${t("alerts.title")}>
        <ul class="plain">
          ${alerts.map(
            (one) =>
              html`<li key=${one.key} class=${one.tone}>
                <${Icon} name=${one.tone === "bad" ? "bad" : "info"} />
                <div>
                  <p><strong>${one.title}</strong> <span class="quiet">${one.where}</span></p>
                  ${one.text && html`<p>${one.text}</p>`}
                </div>
                ${one.link &&
                html`<a class="button small" href=${one.link} aria-label=${t("alerts.lookAt", { what: one.title })}
                  >${t("alerts.look")}</a
                >`}
              </li>`,
          )}
        </ul>
      </section>`}${rows.length > 0 && html`<${Bar} rows=${rows} />`}${can("operator") &&
      html`<${Charts} ring=${ring} />`}<${Figures} ring=${ring} />
    </div>`;
}

// useMinute draws again each minute: how long something lasts changes.
function useMinute() {
  const [minute, set] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => set((n) => n + 1), 60000);
    return () => clearInterval(timer);
  }, []);
  return minute;
}

// useReady polls /ready once a minute.
function useReady() {
  /** @type {any} */
  const [ready, setReady] = useState({ reasons: [], warnings: [] });
  useEffect(() => {
    const ask = async () => {
      try {
        setReady({ reasons: [], warnings: [], ...(await get("/ready")) });
      } catch (error) {
        if (error.details)
          setReady({
            reasons: [troubleOf(error)],
            warnings: [],
            ...error.details,
            ...(error.code === "STANDBY" && { reasons: [] }),
          });
      }
    };
    ask();
    const timer = setInterval(ask, 60000);
    return () => clearInterval(timer);
  }, []);
  return ready;
}

// useCluster polls the state of the cell, which the owner shows to the operator.
function useCluster(role) {
  const [state, setState] = useState(null);
  const shown = role === "owner" && can("operator");
  useEffect(() => {
    if (!shown) return setState(null);
    const ask = () => get("/admin/cluster").then(setState, () => {}); // a lost connection is shown elsewhere
    ask();
    const timer = setInterval(ask, 15000);
    return () => clearInterval(timer);
  }, [shown]);
  return state;
}

const standbysOf = (cluster) => cluster.nodes.filter((one) => one.role === "standby");
const behindOf = (nodes) => Math.max(0, ...nodes.map((one) => one.behindMs)) / 1000;
const late = 5; // seconds, as for postern status

// nodesOf says which node this is, and which stand by.
function nodesOf(ready, cluster) {
  if (ready.role !== "owner") return t("cluster.standby");
  if (!cluster) return "";
  const others = standbysOf(cluster),
    names = others.map((one) => one.node);
  if (!names.length) return t("cluster.alone", { node: cluster.node });
  return many("cluster.by", names.length, {
    node: cluster.node,
    names: listed(names),
    seconds: number(behindOf(others), 1),
  });
}

// lacking returns what the cell lacks to survive the loss of a machine.
function lacking(cluster) {
  if (!cluster) return [];
  const others = standbysOf(cluster),
    behind = others.filter((one) => one.behindMs > late * 1000),
    { engine } = cluster;
  return [
    others.length === 0 && ["noStandby"],
    behind.length > 0 && [
      "behind",
      { names: listed(behind.map((one) => one.node)), seconds: number(behindOf(behind), 1) },
    ],
    !engine && ["noEngine"],
    engine?.synchronous.length === 0 && ["notSynchronous"],
    engine?.acceptLoss && ["acceptLoss"],
  ]
    .filter(Boolean)
    .map(([key, values]) => ({
      key: "cluster." + key,
      tone: "bad",
      title: t("lacks." + key, values),
      text: t("lacks." + key + ".do"),
    }));
}

// alertsOf returns the alerts, worst first, each with what to do.
function alertsOf(rows, { reasons, warnings }, cluster, wrong) {
  const all = reasons.map((text, i) => ({ key: "reason" + i, tone: "bad", title: t("alerts.notReady"), text }));
  all.push(...lacking(cluster));
  const byState = new Map();
  for (const row of rows) {
    if (groupFor(row.connectionStatus) !== "bad") continue;
    const state = stateOf(row.connectionStatus);
    byState.set(state, [...(byState.get(state) || []), row]);
  }
  for (const [state, found] of byState) {
    const key = "do." + state,
      names = found.map((row) => row.name),
      kinds = new Set(found.map(kindOf)),
      since = (wrong.items || [])
        .flatMap((one) => (kinds.has(one.kind) ? one.subjects : []))
        .filter((one) => names.includes(one.name))
        .map((one) => one.since)
        .sort()[0];
    all.push({
      key: state,
      tone: "bad",
      title:
        names.length === 1
          ? t("alerts.one", { name: names[0], state: t("state." + state) })
          : many("alerts.many", names.length, { state: t("state." + state) }),
      where: [names.length > 1 && some(names), since && lasted(since)].filter(Boolean).join(" · "),
      text: has(key) ? t(key) : "",
      link:
        names.length === 1
          ? to(["instances", names[0]])
          : to(
              ["instances"],
              kinds.size === 1 && !kinds.has(undefined) ? { trouble: [...kinds][0] } : { state: "bad" },
            ),
    });
  }
  if (wrong.error)
    all.push({ key: "unknown", tone: "busy", title: t("troubles.unknown"), text: troubleOf(wrong.error) });
  const known = [...reasons, ...warnings];
  all.push(
    ...(wrong.items || [])
      .filter(
        (one) =>
          one.kind !== "NO_STANDBY" && // the cell says it
          !(one.kind.startsWith("INSTANCE_") && byItsState(rows, one.kind)) &&
          !one.subjects.every((of) => of.type === "program" && known.includes(of.name)),
      )
      .map(shown),
  );
  all.sort((a, b) => +(a.tone !== "bad") - +(b.tone !== "bad"));
  warnings.forEach((text, i) => all.push({ key: "warning" + i, tone: "busy", title: t("alerts.warning"), text }));
  return all;
}

// kindOf returns the trouble of an instance itself.
const kindOf = (row) => row.troubles?.find((kind) => kind.startsWith("INSTANCE_"));

// byItsState reports whether all instances of a trouble are in a state that the overview lists.
const byItsState = (rows, kind) =>
  rows.every((row) => kindOf(row) !== kind || groupFor(row.connectionStatus) === "bad");

const lasted = (since) => span((Date.now() - Date.parse(since)) / 1000);

// some lists the first three names, and how many follow.
const some = (names, count = names.length) =>
  listed([...names.slice(0, 3), ...(count > 3 ? [t("names.more", { n: number(count - 3) })] : [])]);

// shown returns the alert of a trouble. One of a kind that this page does not know has the server's text.
function shown({ id, kind, severity, since, count, subjects, origin, waiting, text, advice }) {
  const page = pageOf(kind),
    lasts = lasted(since);
  const names = some(
    subjects.map((one) => one.name),
    count,
  );
  if (!has("trouble." + kind + ".do"))
    return {
      key: id,
      tone: severity === "broken" ? "bad" : "busy",
      title: text,
      text: kind === "WARNING" || kind === "NOT_READY" ? names : advice,
    };
  const title = t("trouble." + kind, { names, where: origin ? hostOf(origin) : names, time: lasts });
  return {
    key: id,
    tone: severity === "broken" ? "bad" : "busy",
    title,
    where: !title.includes(lasts) && lasts,
    text: (waiting ? many("trouble.waiting", waiting) + " " : "") + t("trouble." + kind + ".do"),
    link: page && to([page], page === "deliveries" ? { origin } : { trouble: kind }),
  };
}

const hostOf = (origin) => origin.replace(/^https?:\/\//, "").replace(/:(80|443)$/, "");

// wrongOf says what is broken: a single line as it stands, several as numbers.
function wrongOf(bad, rows, items) {
  if (bad.length < 2) return bad[0]?.title;
  const broken = (items || []).filter((one) => one.severity === "broken"),
    of = (type) => broken.filter((one) => one.subjects[0]?.type === type);
  const instances = rows.filter(
    (row) =>
      groupFor(row.connectionStatus) === "bad" || of("instance").some(({ kind }) => row.troubles?.includes(kind)),
  );
  const receivers = of("receiver").length,
    batches = of("batch").reduce((sum, one) => sum + one.count, 0);
  const parts = [
    instances.length && many("instances.found", instances.length),
    receivers && many("sentence.receivers", receivers),
    batches && many("batches.found", batches),
  ].filter(Boolean);
  return parts.length ? t("sentence.bad", { what: listed(parts) }) : bad[0].title;
}

function Sentence({ rows, alerts, items }) {
  const online = rows.filter((row) => groupFor(row.connectionStatus) === "good").length,
    wrong = wrongOf(
      alerts.filter((one) => one.tone === "bad"),
      rows,
      items,
    );
  const reasons = alerts.some((one) => one.key.startsWith("reason"));
  const tone = wrong ? "bad" : alerts.length ? "busy" : rows.length === 0 ? "off" : "good";
  const title = reasons
    ? t("sentence.notReady")
    : wrong || (alerts.length ? t("sentence.warning") : rows.length === 0 ? t("sentence.empty") : t("sentence.good"));
  return html`<h1 tabindex="-1" class=${"sentence " + tone}><${Icon} name=${tone} large /><span>${title}</span></h1>
    <p class="lead">
      ${rows.length
        ? many("instances.lead", rows.length, { online: number(online) })
        : can("manage", "everywhere") && html`<a href=${to(["instances"])}>${t("sentence.begin")}</a>`}
    </p>`;
}

// Bar shows the instances by state in one bar.
function Bar({ rows }) {
  const counts = groups
    .map((group) => [group, rows.filter((row) => groupFor(row.connectionStatus) === group).length])
    .filter(([, n]) => n);
  return html`<section class="card fleet">
    <h2 class="unseen">${t("nav.instances")}</h2>
    <div class="fleet-bar" aria-hidden="true">
      ${counts.map(([group, n]) => html`<span key=${group} class=${group} style=${{ flexGrow: n }}></span>`)}
    </div>
    <ul class="fleet-legend">
      ${counts.map(
        ([group, n]) =>
          html`<li key=${group}>
            <a class=${"plain " + group} href=${to(["instances"], { state: group })}
              ><${Icon} name=${group} /><strong class="figures">${number(n)}</strong
              ><span>${t("group." + group)}</span></a
            >
          </li>`,
      )}
    </ul>
  </section>`;
}

// ranges are the number of steps and their seconds.
const ranges = { hour: [60, 60], day: [24 * 60, 60], month: [30 * 24, 3600] };

function Charts({ ring }) {
  const [range, setRange] = useState("hour");
  /** @type {any} */
  const [part, setPart] = useState(null); // the first and the last second of what is shown of it
  const [n, step] = ranges[range],
    long = step > 60;
  const hours = useLoaded(long ? "/admin/samples?interval=3600" : null);
  const hour = Math.floor(Date.parse(ring.list.at(-1)?.at) / 3.6e6);
  useEffect(() => {
    if (long) hours.load();
  }, [hour]); // minutes are kept for a day only
  /** @type {any} */
  const drawn = useMemo(() => {
    const all = seriesOf(long ? byHour(hours.value?.samples || [], ring.list) : ring.list, n, step);
    return part ? partOf(all, part) : all;
  }, [ring.list, hours.value, range, part]);
  if (ring.error && !ring.at) return html`<${Trouble} error=${ring.error} again=${loadSamples} />`;
  const chart = (title, ...series) =>
    html`<${Chart}
      title=${title}
      xs=${drawn.xs}
      step=${step}
      ended=${drawn.ended}
      onPart=${setPart}
      series=${series.map(([key, tone, label], i) => ({ key, tone, label, fill: !i, values: drawn[key] }))}
    />`;
  return html`<section class="card">
    <header>
      <h2>${t(long ? "charts.byHour" : "charts.title")}</h2>
      <div class="buttons">
        ${part && html`<${Button} kind="small" word=${t("charts.whole")} act=${() => setPart(null)} />`}
        <${Choice}
          label=${t("charts.range")}
          value=${range}
          on=${(one) => {
            setRange(one);
            setPart(null);
          }}
          options=${[
            ["hour", t("charts.hour")],
            ["day", t("charts.day")],
            ["month", t("charts.month")],
          ]}
        />
      </div>
    </header>
    <${Trouble} error=${hours.error} again=${hours.load} />
    <div class="pair charts">
      ${chart(t("charts.messages"), ["received", "accent", t("charts.received")], ["sent", "good", t("charts.sent")])}
      ${chart(
        t("charts.deliveries"),
        ["deliveries", "accent", t("charts.attempts")],
        ["failed", "bad", t("charts.failed")],
      )}
    </div>
  </section>`;
}

// seriesOf returns a value for each of the last n steps, null where there is no sample.
function seriesOf(list, n, step) {
  const made = { xs: [], ...Object.fromEntries(figures.map((name) => [name, []])) };
  const placeOf = ({ at }) => Math.floor(Date.parse(at) / 1000 / step);
  const byStep = new Map(list.map((sample) => [placeOf(sample), sample]));
  const last = placeOf(list.at(-1) || { at: new Date() });
  for (let i = last - n + 1; i <= last; i++) {
    made.xs.push(i * step);
    for (const name of figures) made[name].push(byStep.get(i)?.[name] ?? null);
  }
  return made;
}

// partOf returns what lies between two times, or the last three steps once all of it is older.
function partOf(all, [first, last]) {
  const from = Math.min(
      Math.max(
        0,
        all.xs.findIndex((at) => at >= first),
      ),
      all.xs.length - 3,
    ),
    until = Math.max(from + 3, all.xs.findLastIndex((at) => at <= last) + 1);
  return {
    ...Object.fromEntries(Object.entries(all).map(([name, list]) => [name, list.slice(from, until)])),
    ended: until < all.xs.length,
  };
}

function Figures({ ring }) {
  const { list, backup } = ring;
  const now = list.at(-1);
  if (!now) return null;
  const grown = now.fileBytes - list[0].fileBytes,
    peak = Math.max(...list.map((one) => one.memoryBytes));
  const late = now.oldestPendingSeconds;
  const tiles = [
    [
      "clock",
      t("figure.oldest"),
      late ? span(late) : t("figure.nothing"),
      t("figure.oldestHelp"),
      late > 3600 ? "bad" : late > 300 ? "busy" : "",
    ],
    [
      "disk",
      t("figure.file"),
      bytes(now.fileBytes),
      t("figure.grown", { more: (grown < 0 ? "−" : "+") + bytes(Math.abs(grown)) }),
      "",
    ],
    ["memory", t("figure.memory"), bytes(now.memoryBytes), t("figure.peak", { most: bytes(peak) }), ""],
    ["backup", t("figure.backup"), ...backupOf(backup)],
  ];
  return html`<dl class="tiles">
    ${tiles.map(
      ([icon, name, value, help, tone]) =>
        html`<div key=${name} class=${"card " + tone}>
          <dt><${Icon} name=${icon} />${name}</dt>
          <dd class="figures">${value}</dd>
          <dd class="quiet">${help}</dd>
        </div>`,
    )}
  </dl>`;
}

// backupOf returns the latest automatic backup, its text and its tone.
function backupOf(backup) {
  if (!backup) return [t("figure.manual"), t("figure.manualHelp"), ""];
  if (backup.failure) return [backup.lastAt ? ago(backup.lastAt) : t("figure.never"), backup.failure, "bad"];
  return backup.lastAt
    ? [ago(backup.lastAt), moment(backup.lastAt), ""]
    : [t("figure.never"), t("figure.neverHelp"), "busy"];
}
