// The global webhook, which gets the events of all instances and of batches.
import { html } from "../html.js";
import { useTitle } from "../ui/float.js";
import { t } from "../words.js";
import { Options } from "./instance_options.js";

export function Webhook() {
  useTitle(t("nav.webhook"));
  return html`<div class="page-head">
      <div>
        <h1 tabindex="-1">${t("nav.webhook")}</h1>
        <p class="lead">${t("webhook.common")}</p>
      </div>
    </div>
    <${Options} path="/webhook/options" common />`;
}
