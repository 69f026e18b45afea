// The proxy of an instance.
import { useState } from "preact/hooks";
import { call, instancePath } from "../data/api.js";
import { useDraft, useLoaded } from "../data/loaded.js";
import { html } from "../html.js";
import { confirm, toast } from "../ui/float.js";
import { SaveCard } from "../ui/form.js";
import { Button, Check, Notice, Text, Trouble } from "../ui/parts.js";
import { number, t } from "../words.js";

const noProxy = { url: "", for: ["socket", "media"] };

export function Proxy({ row }) {
  const path = instancePath(row.name) + "/proxy";
  const loaded = useLoaded(path, { none: noProxy });
  const form = useDraft(loaded.value);
  const { draft, change } = form;
  const [result, setResult] = useState(null);
  const [error, setError] = useState(null);
  const save = async (proxy) => {
    setResult(null);
    const made = await call("PUT", path, { url: proxy.url.trim(), for: proxy.for }, { patience: 120000 });
    loaded.set(made);
    return made;
  };
  const tryIt = async () => {
    setError(null);
    setResult(null);
    try {
      setResult(await call("POST", path + "/test", undefined, { patience: 120000 }));
    } catch (reason) {
      setError(reason);
    }
  };
  const remove = () =>
    confirm({
      title: t("proxy.removeTitle"),
      children: t("proxy.removeText"),
      word: t("proxy.remove"),
      act: async () => {
        await call("DELETE", path);
        loaded.set(noProxy);
        form.saved(noProxy);
        toast(t("proxy.removed"));
      },
    });
  const use = (one, is) => change({ for: is ? [...draft.for, one] : draft.for.filter((was) => was !== one) });
  return html`<${SaveCard}
    title=${t("proxy.title")}
    about=${t("proxy.about")}
    loaded=${loaded}
    form=${form}
    save=${save}
    done=${t("proxy.saved")}
    more=${html`<${Button} icon="deliveries" word=${t("proxy.try")} act=${tryIt} />${loaded.value?.url &&
      html`<${Button}
        kind="harm bare"
        icon="trash"
        word=${t("proxy.remove")}
        act=${() => {
          remove();
        }}
      />`}`}
    >${draft &&
    html`<${Text}
        label=${t("proxy.url")}
        help=${t("proxy.urlHelp")}
        kind="code"
        maxlength="500"
        placeholder="socks5://user:password@proxy.example.org:1080"
        value=${draft.url}
        on=${(url) => change({ url })}
      />
      <fieldset>
        <legend class="label">${t("proxy.for")}</legend>
        ${["socket", "media"].map(
          (one) =>
            html`<${Check}
              key=${one}
              label=${t("proxy." + one)}
              value=${draft.for.includes(one)}
              on=${(is) => use(one, is)}
            />`,
        )}
      </fieldset>
      ${result &&
      html`<${Notice}
        tone=${result.ok ? "good" : "bad"}
        live="status"
        title=${result.ok
          ? t("proxy.works", { ms: number(result.latencyMs) })
          : t("proxy.fails", { step: result.step })}
        >${result.error}<//
      >`}<${Trouble} error=${error} />`}<//
  >`;
}
