// The replay of deliveries: their number before the start, the progress after it.
import { useEffect, useState } from "preact/hooks";
import { call, get, query } from "../data/api.js";
import { html } from "../html.js";
import { choose, go, place } from "../router.js";
import { Cancel, Dialog, close } from "../ui/float.js";
import { Button, Check, Meter, Select, Text, Trouble } from "../ui/parts.js";
import { When, useSoon } from "../ui/sheet.js";
import { useLoaded } from "../data/loaded.js";
import { many, number, t } from "../words.js";
import { eventsOf, pathOf, states, targets } from "./deliveries.js";

const usual = ["FAILED", "DROPPED", "EXPIRED"];

// Replay starts with the filter of the list. The count is an upper limit: the server omits
// deliveries that a replay delivered already and those without a body.
export function Replay({ instance, chosen }) {
  const known = chosen.state.filter((one) => one !== "PENDING");
  const [form, setForm] = useState({ ...chosen, state: known.length ? known : usual, limit: "" });
  const [error, setError] = useState(null);
  const put = (part) => setForm({ ...form, ...part });
  const { from, to: until, event, target, endpointId, state, limit } = form;
  const selected = useSoon({
    from,
    to: until,
    event,
    target,
    endpointId: target === "endpoint" ? endpointId : "",
    state,
  });
  const path = pathOf(instance);
  const counted = useLoaded(selected.state.length ? path + query({ ...selected, limit: 1 }) : null);
  const n = Math.min(counted.value?.totalRecords ?? 0, Number(limit) || 100000);
  const start = async () => {
    setError(null);
    const body = {
      from,
      to: until,
      target,
      endpointId: target === "endpoint" ? endpointId : "",
      events: event && [event],
      state,
      limit: Number(limit),
    };
    try {
      const { replayId } = await call(
        "POST",
        path + "/replay",
        Object.fromEntries(Object.entries(body).filter(([, value]) => value)),
      );
      close();
      if (place.value.parts[0] === "deliveries") choose({ replay: String(replayId), instance });
      else go(["deliveries"], { replay: String(replayId), instance });
    } catch (reason) {
      setError(reason);
    }
  };
  return html`<${Dialog}
    title=${t("replay.title")}
    footer=${html`<${Cancel} /><${Button}
        kind="first"
        word=${n ? many("replay.start", n) : t("replay.do")}
        disabled=${!n || !state.length}
        act=${start}
      />`}
    ><p>${t("replay.text", { whose: instance || t("group.all") })}</p>
    <form class="form" onSubmit=${(event) => event.preventDefault()} novalidate>
      <fieldset>
        <legend class="label">${t("column.state")}</legend>
        <div class="flags-list">
          ${states
            .slice(1)
            .map(
              (one) =>
                html`<${Check}
                  key=${one}
                  label=${t("delivery." + one)}
                  value=${state.includes(one)}
                  on=${(is) => put({ state: is ? [...state, one] : state.filter((other) => other !== one) })}
                />`,
            )}
        </div>
      </fieldset>
      <div class="row">
        <${Select}
          label=${t("try.event")}
          value=${event}
          on=${(name) => put({ event: name })}
          options=${eventsOf(event)}
        /><${Select}
          label=${t("delivery.to")}
          value=${target}
          on=${(name) => put({ target: name })}
          options=${targets().filter(([name]) => name !== "global" || !instance)}
        />${target === "endpoint" &&
        html`<${Text}
          label=${t("endpoints.id")}
          value=${endpointId}
          on=${(name) => put({ endpointId: name })}
          maxlength="64"
        />`}
      </div>
      <div class="row">
        <${When} label=${t("limits.from")} value=${from} on=${(at) => put({ from: at })} /><${When}
          label=${t("limits.to")}
          value=${until}
          on=${(at) => put({ to: at })}
        />
      </div>
      <${Text}
        label=${t("limits.max")}
        type="number"
        min="1"
        max="100000"
        placeholder="100000"
        value=${limit}
        on=${(text) => put({ limit: text })}
      />
    </form>
    <p role="status" class="figures">
      ${counted.value && state.length > 0
        ? html`<strong>${many("replay.count", n)}</strong> <span class="quiet">${t("replay.atMost")}</span>`
        : !counted.error && state.length > 0 && t("loading")}
    </p>
    <${Trouble} error=${error || counted.error}
  /><//>`;
}

// Progress polls while the replay runs, since the live connection does not report it.
export function Progress({ path, id }) {
  const at = path.replace(/deliveries$/, "replays/") + encodeURIComponent(id);
  const [progress, setProgress] = useState(null);
  const [error, setError] = useState(null);
  useEffect(() => {
    let over = false,
      timer = 0;
    const ask = async () => {
      try {
        const now = await get(at);
        if (over) return;
        setError(null);
        setProgress(now);
        if (now.state === "RUNNING") timer = setTimeout(ask, 1000);
        else if (now.sent > now.delivered + now.failed) timer = setTimeout(ask, 5000); // the last deliveries are pending
      } catch (reason) {
        if (over) return;
        setError(reason);
        if (!reason.status) timer = setTimeout(ask, 5000);
      }
    };
    ask();
    return () => {
      over = true;
      clearTimeout(timer);
    };
  }, [at]);
  const stop = () => call("DELETE", at).then(setProgress, setError);
  const done = progress && progress.state !== "RUNNING";
  return html`<section class="card replay" aria-label=${t("replay.title")}>
    ${progress &&
    html`<div class="between">
        <p role="status">
          <strong>${t("replay." + progress.state)}</strong>${" "}<span class="figures"
            >${t("replay.sent", { sent: number(progress.sent), matched: number(progress.matched) })}</span
          >
        </p>
        <div class="buttons">
          ${done
            ? html`<${Button}
                kind="bare square small"
                icon="close"
                word=${t("close")}
                act=${() => {
                  choose({ replay: "" });
                }}
              />`
            : html`<${Button} kind="small harm" word=${t("cancel")} act=${stop} />`}
        </div>
      </div>
      <${Meter} used=${progress.sent} of=${progress.matched} label=${t("replay.title")} />
      <p class="figures state-line">
        <span class="state good">${number(progress.delivered)}${" "}${t("delivery.DELIVERED")}</span>${" "}<span
          class="state bad"
          >${number(progress.failed)}${" "}${t("delivery.FAILED")}</span
        >
      </p>`}<${Trouble} error=${error} />
  </section>`;
}
