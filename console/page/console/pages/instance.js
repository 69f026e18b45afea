// One instance: its state and settings in tabs.
import { useEffect, useRef } from "preact/hooks";
import { instancePath } from "../data/api.js";
import { useCell } from "../data/cell.js";
import { drafts } from "../data/drafts.js";
import { fleet } from "../data/fleet.js";
import { can } from "../data/session.js";
import { html } from "../html.js";
import { to } from "../router.js";
import { useTitle } from "../ui/float.js";
import { Icon } from "../ui/icon.js";
import { Empty, State } from "../ui/parts.js";
import { t } from "../words.js";
import { Acts } from "./instance_actions.js";
import { Events } from "./instance_events.js";
import { Tag } from "./instance_rows.js";
import { Proxy } from "./instance_proxy.js";
import { Limits, Settings } from "./instance_settings.js";
import { Now } from "./instance_state.js";
import { Webhook } from "./instance_webhook.js";

// tabs by route: the required scope and the component.
const tabs = {
  state: ["read", Now],
  events: ["read", Events],
  webhook: ["webhook", Webhook],
  limits: ["manage", Limits],
  settings: ["manage", Settings],
  proxy: ["manage", Proxy],
};

const useRow = (name) => useCell(fleet, ({ rows }) => rows.find((one) => one.name === name));

// Aside shows the state of an instance beside the list.
export function Aside({ name }) {
  const row = useRow(name);
  if (!row) return html`<p class="quiet">${t("instance.goneText", { name })}</p>`;
  return html`<div class="stack">
    <div class="between">
      <p class="lead"><${State} of=${row.connectionStatus} pill />${row.description}</p>
      <div class="buttons"><${Acts} row=${row} large /></div>
    </div>
    <${Now} row=${row} />
  </div>`;
}

export function Instance({ name, tab }) {
  const row = useRow(name);
  const { at } = useCell(fleet);
  const mine = Object.keys(tabs).filter((one) => can(tabs[one][0]));
  const here = mine.includes(tab) ? tab : mine[0];
  const list = useRef(null);
  const kept = Object.keys(useCell(drafts));
  const unsaved = (one) => kept.some((key) => (key + "/").startsWith(instancePath(name) + "/" + one + "/"));
  useEffect(() => {
    list.current?.querySelector("[aria-current]")?.scrollIntoView({ inline: "nearest", block: "nearest" });
  }, [here, !row]);
  useTitle(name, here !== "state" && t("tab." + here));
  if (!row && at)
    return html`<${Empty}
      icon="search"
      title=${t("instance.gone")}
      buttons=${html`<a class="button" href=${to(["instances"])}>${t("instance.back")}</a>`}
      >${t("instance.goneText", { name })}<//
    >`;
  if (!row) return null;
  const Shown = tabs[here][1];
  return html`<div class="page-head instance-head">
      <div>
        <a class="crumb" href=${to(["instances"])}><${Icon} name="left" />${t("nav.instances")}</a>
        <h1 tabindex="-1">${row.name}</h1>
        <p class="lead">
          <${State} of=${row.connectionStatus} pill />${row.description &&
          html`<span>${row.description}</span>`}${row.tags?.map((tag) => html`<${Tag} key=${tag} tag=${tag} />`)}
        </p>
      </div>
      <div class="buttons"><${Acts} row=${row} large /></div>
    </div>
    <nav class="tabs" ref=${list} aria-label=${t("tabs.of", { name })}>
      ${mine.map(
        (one) =>
          html`<a
            key=${one}
            href=${to(["instances", name, ...(one === "state" ? [] : [one])])}
            aria-current=${one === here ? "page" : undefined}
            >${t("tab." + one)}${unsaved(one) && html` <span class="unsaved">${t("unsaved")}</span>`}</a
          >`,
      )}
    </nav>
    <${Shown} row=${row} key=${name + here} />`;
}
