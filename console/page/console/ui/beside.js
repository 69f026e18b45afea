// An entry of a list beside the list, where the window has room: the address names it as "show".
import { useEffect, useState } from "preact/hooks";
import { useCell } from "../data/cell.js";
import { html } from "../html.js";
import { choose, place, to } from "../router.js";
import { t } from "../words.js";
import { Button } from "./parts.js";

const room = matchMedia("(min-width: 100rem)");

// useRoom reports whether there is room.
export function useRoom() {
  const [is, set] = useState(room.matches);
  useEffect(() => {
    const look = () => set(room.matches);
    room.addEventListener("change", look);
    return () => room.removeEventListener("change", look);
  }, []);
  return is;
}

// Entry is the link of a row. It shows the entry beside the list, or leads to its page.
export function Entry({ page, id, query, children, ...rest }) {
  const shown = useCell(place, ({ query }) => query.get("show") === String(id));
  const show = (event) => {
    if (!room.matches || event.button || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    choose({ show: String(id) });
  };
  return html`<a
    href=${to([page, id], { ...query, show: "" })}
    aria-current=${shown ? "true" : undefined}
    onClick=${show}
    ...${rest}
    >${children}</a
  >`;
}

// Beside shows a list and, if it is not empty, an entry.
export const Beside = ({ children, entry, title, page, id, query }) =>
  html`<div class=${entry ? "beside" : ""}>
    <div>${children}</div>
    ${entry &&
    html`<aside aria-label=${title}>
      <div class="between">
        <h2 class="one-line">${title}</h2>
        <div class="buttons">
          <a class="button small" href=${to([page, id], { ...query, show: "" })}>${t("beside.page")}</a
          ><${Button}
            kind="bare square small"
            icon="close"
            word=${t("close")}
            act=${() => {
              choose({ show: "" });
            }}
          />
        </div>
      </div>
      ${entry}
    </aside>`}
  </div>`;
