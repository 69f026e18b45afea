// The state of a batch, and its progress.
import { states } from "../data/talk.js";
import { html } from "../html.js";
import { Icon } from "../ui/icon.js";
import { number, t } from "../words.js";

export function BatchState({ of, pill }) {
  const [tone, icon] = states[of] || ["off", "info"];
  return html`<span class=${"state " + tone + (pill ? " pill" : "")}
    ><${Icon} name=${icon} /><span>${states[of] ? t("batch.state." + of) : of}</span></span
  >`;
}

// Bar shows the progress of a batch: sent, failed and remaining recipients.
export function Bar({ counts }) {
  const parts = [
    ["good", counts.success],
    ["bad", counts.failed + counts.unknown],
    ["skipped", counts.skipped],
  ];
  return html`<div
    class="batch-bar"
    role="img"
    aria-label=${t("batch.of", { done: number(counts.processed), of: number(counts.total) })}
  >
    ${parts.map(
      ([tone, n]) =>
        n > 0 && html`<span key=${tone} class=${tone} style=${{ width: (n / counts.total) * 100 + "%" }}></span>`,
    )}
  </div>`;
}
