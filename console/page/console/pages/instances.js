// The list of instances: search, filters, order and actions.
import { useEffect, useLayoutEffect, useMemo } from "preact/hooks";
import { useCell } from "../data/cell.js";
import { fleet, loadFleet } from "../data/fleet.js";
import { can } from "../data/session.js";
import { groupFor, groups, stateOf } from "../data/states.js";
import { html } from "../html.js";
import { choose } from "../router.js";
import { Beside, useRoom } from "../ui/beside.js";
import { Menu, useTitle } from "../ui/float.js";
import { Icon } from "../ui/icon.js";
import { Button, Empty, Loading, Search, Trouble } from "../ui/parts.js";
import { Windowed } from "../ui/windowed.js";
import { compare, fold, has, many, number, t } from "../words.js";
import { Aside, Instance } from "./instance.js";
import { create, takeIn } from "./instance_actions.js";
import { Many, Panel } from "./instance_many.js";
import { Heads, choosable, drawRow, heightOf, layout, layoutItems, orders, showing, tracks } from "./instance_rows.js";

export function Instances({ parts, query }) {
  const { at, error } = useCell(fleet);
  const show = query.get("show"),
    room = useRoom();
  useEffect(() => {
    if (!fleet.value.at) loadFleet().catch(() => {});
  }, []);
  const name = parts[0] || (!room && show);
  if (name) return html`<${Instance} name=${name} tab=${parts[1] || "state"} key=${name} />`;
  if (!at && error)
    return html`<div class="stack"><${Head} rows=${[]} /><${Trouble} error=${error} again=${loadFleet} /></div>`;
  if (!at) return html`<${Head} rows=${[]} /><${Loading} />`;
  return html`<${Beside}
    entry=${show && html`<${Aside} name=${show} key=${show} />`}
    title=${show}
    page="instances"
    id=${show}
    ><${List} query=${query}
  /><//>`;
}

function Head({ rows }) {
  useTitle(t("nav.instances"));
  const online = rows.filter((row) => groupFor(row.connectionStatus) === "good").length;
  return html`<div class="page-head">
    <div>
      <h1 tabindex="-1">${t("nav.instances")}</h1>
      ${rows.length > 0 &&
      html`<p class="lead figures">${many("instances.lead", rows.length, { online: number(online) })}</p>`}
    </div>
    ${can("manage", "everywhere") && rows.length > 0 && html`<div class="buttons"><${Make} /></div>`}
  </div>`;
}

// Make offers a new instance and the import of one.
const Make = () =>
  html`<${Button}
      kind="first"
      icon="plus"
      word=${t("create.do")}
      act=${() => {
        create();
      }}
    />${can("operator") &&
    html`<${Button}
      icon="clip"
      word=${t("import.do")}
      act=${() => {
        takeIn();
      }}
    />`}`;

const found = (row, wanted) =>
  [row.name, row.description, row.ownerJid, ...(row.tags || [])].some((text) => fold(text).includes(wanted));

const several = (query, name) => (query.get(name) || "").split(",").filter(Boolean);

// fitsAddress returns the filter that an address names, as of GET /instance: of the same parameter one
// must fit, but all tags; of different ones each. A state may be the name of a group.
function fitsAddress({ states, kinds, tags, wanted }) {
  const folded = fold(wanted.trim());
  return (row) =>
    (!states.length ||
      states.some(
        (one) => one === groupFor(row.connectionStatus) || one.toLowerCase() === stateOf(row.connectionStatus),
      )) &&
    (!kinds.length || kinds.some((one) => row.troubles?.includes(one))) &&
    tags.every((one) => row.tags?.includes(one)) &&
    (!folded || found(row, folded));
}

function List({ query }) {
  const rows = useCell(fleet, ({ rows }) => rows),
    look = useCell(layout);
  const wanted = query.get("q") || "",
    sort = orders[query.get("sort")] ? query.get("sort") : "name";
  const states = several(query, "state"),
    kinds = several(query, "trouble"),
    tags = several(query, "tag");
  const address = query.toString();
  const counts = useMemo(() => {
    const all = Object.fromEntries(groups.map((one) => [one, 0]));
    for (const row of rows) all[groupFor(row.connectionStatus)]++;
    return all;
  }, [rows]);
  const known = useMemo(() => [...new Set(rows.flatMap((row) => row.tags || []))].sort(compare()), [rows]);
  const shown = useMemo(
    () => rows.filter(fitsAddress({ states, kinds, tags, wanted })).sort(orders[sort]),
    [rows, address],
  );
  useLayoutEffect(() => showing(shown.map((row) => row.name)), [shown]);
  if (rows.length === 0) return html`<${Head} rows=${rows} /><${Panel} /><${First} />`;
  const flip = (name, list, one) =>
    choose({ [name]: (list.includes(one) ? list.filter((other) => other !== one) : [...list, one]).join() });
  const items = known.map((tag) => ({
    word: tag,
    icon: tags.includes(tag) ? "check" : "",
    current: tags.includes(tag),
    act: () => flip("tag", tags, tag),
  }));
  return html`<${Head} rows=${rows} /><${Panel} />
    <div class="toolbar">
      <${Search} word=${t("instances.search")} value=${wanted} on=${(text) => choose({ q: text })} wide />
      <div class="filters" role="group" aria-label=${t("instances.filter")}>
        ${kinds.map(
          (kind) =>
            html`<${Filter}
              key=${kind}
              tone="bad"
              word=${t(has("kind." + kind) ? "kind." + kind : "instances.trouble")}
              n=${shown.length}
              on
              act=${() => flip("trouble", kinds, kind)}
            />`,
        )}
        ${states
          .filter((one) => !groups.includes(one))
          .map(
            (one) =>
              html`<${Filter}
                key=${one}
                tone=${groupFor(one)}
                word=${t("state." + stateOf(one))}
                n=${shown.length}
                on
                act=${() => flip("state", states, one)}
              />`,
          )}
        ${tags.map(
          (tag) =>
            html`<${Filter}
              key=${"tag " + tag}
              word=${t("tags.with", { tag })}
              n=${shown.length}
              on
              act=${() => flip("tag", tags, tag)}
            />`,
        )}
        <${Filter} word=${t("group.all")} n=${rows.length} on=${!states.length} act=${() => choose({ state: "" })} />
        ${groups.map(
          (one) =>
            (counts[one] > 0 || states.includes(one)) &&
            html`<${Filter}
              key=${one}
              tone=${one}
              word=${t("group." + one)}
              n=${counts[one]}
              on=${states.includes(one)}
              act=${() => choose({ state: states.includes(one) ? "" : one })}
            />`,
        )}
      </div>
      <div class="buttons looks">
        ${known.length > 0 &&
        html`<${Menu} word=${t("column.tags")} kind="small" items=${items}>${t("column.tags")}<//>`}
        <${Menu} word=${t("rows.look")} kind="small" items=${layoutItems(look)}>${t("rows.look")}<//>
      </div>
    </div>
    <${Many} rows=${shown} />
    <p class="unseen" role="status">${many("instances.found", shown.length)}</p>
    ${shown.length === 0
      ? html`<${Empty}
          icon="search"
          title=${t("instances.none")}
          buttons=${html`<${Button}
            word=${t("instances.all")}
            act=${() => {
              choose({ q: "", state: "", trouble: "", tag: "" });
            }}
          />`}
        />`
      : html`<div
          class=${"list instances" + (look.high ? " high" : "") + (choosable() ? "" : " unpicked")}
          style=${tracks(look)}
        >
          <${Windowed}
            items=${shown}
            height=${heightOf(look)}
            keyOf=${(row) => row.id}
            label=${t("nav.instances")}
            draw=${drawRow}
            head=${html`<${Heads} sort=${sort} shown=${look.shown} />`}
          />
        </div>`}`;
}

function Filter({ word, n, on, act, tone }) {
  return html`<button type="button" class=${"filter " + (tone || "")} aria-pressed=${String(on)} onClick=${act}>
    ${tone && html`<${Icon} name=${tone} />`}${word}<span class="figures">${number(n)}</span>
  </button>`;
}

// First is the empty list: what an instance is, how to create one, and the sandbox as the way
// without a phone.
function First() {
  if (!can("manage", "everywhere"))
    return html`<div class="card">
      <${Empty} icon="phone" title=${t("first.nothing")}>${t("first.nothingText")}<//>
    </div>`;
  return html`<div class="card">
    <${Empty} icon="phone" title=${t("first.title")} buttons=${html`<${Make} />`}>${t("first.text")}<//>
    <div class="aside">
      <div>
        <h2>${t("first.noPhone")}</h2>
        <p>${t("first.noPhoneText")}</p>
      </div>
      <pre class="code">SANDBOX_ENABLED=true ./bin/postern serve</pre>
    </div>
  </div>`;
}
