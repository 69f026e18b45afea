// Overlays: dialogs, menus and toasts.
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { cell, useCell } from "../data/cell.js";
import { troubles } from "../data/troubles.js";
import { html } from "../html.js";
import { t } from "../words.js";
import { Icon } from "./icon.js";
import { Button, Text, Trouble } from "./parts.js";

// dialog is the function that draws the open dialog, null for none. The shell draws it, so
// that it outlives the row that opened it.
export const dialog = cell(null);

let leaves = false; // the focus does not return to the opener

// A dialog is an entry of the history, which Back leaves.
let returns = false; // from the entry of a closed dialog
const enter = () => {
  if (!history.state?.dialog) history.pushState({ dialog: true }, "");
};

export const open = (draw) => {
  dialog.set(draw);
  enter();
};
export const close = (leave) => {
  leaves = leave === true;
  dialog.set(null);
  setTimeout(() => {
    // unless another opens or the page changes at once
    if (dialog.value || returns || !history.state?.dialog) return;
    returns = true;
    history.back();
  });
};
addEventListener("popstate", () => {
  if (returns)
    dialog.value && enter(); // it opened meanwhile
  else if (dialog.value && !history.state?.dialog) dialog.set(null);
  returns = false;
});

// Cancel is the button that closes a dialog and changes nothing.
export const Cancel = () =>
  html`<${Button}
    word=${t("cancel")}
    act=${() => {
      close();
    }}
  />`;

// When the focused element leaves the page, the focus goes to the first field of the page
// or to its heading, as soon as there is one.
let focused = null;
const atHeading = () => document.querySelector("main [autofocus], main h1")?.focus();
document.addEventListener("focusin", ({ target }) => {
  focused = target;
});
new MutationObserver(() => {
  if (focused && !focused.isConnected && document.activeElement === document.body) atHeading();
}).observe(document, { childList: true, subtree: true });

export const Dialogs = () => {
  const draw = useCell(dialog);
  return draw && draw();
};

// Dialog takes the focus when it opens and gives it back when it closes.
let titles = 0;
export function Dialog({ title, wide, children, footer, closed = close }) {
  const box = useRef(null);
  const [id] = useState(() => "dialog-" + ++titles);
  useLayoutEffect(() => {
    const before = document.activeElement,
      own = box.current;
    own.showModal();
    const first = box.current.querySelector(
      "[autofocus], .body input:not([type=hidden]), .body textarea, .body select, footer .button",
    );
    (first || box.current.querySelector("button"))?.focus();
    return () => {
      own.close(); // what is behind a modal dialog takes no focus
      if (!leaves && before?.isConnected && before !== document.body) before.focus();
      else atHeading();
      leaves = false;
    };
  }, []);
  const cancel = (event) => {
    event.preventDefault();
    closed();
  };
  return html`<dialog ref=${box} class=${wide ? "wide" : ""} aria-labelledby=${id} onCancel=${cancel}>
    <header>
      <h2 id=${id}>${title}</h2>
      <${Button}
        kind="bare square"
        icon="close"
        word=${t("close")}
        act=${() => {
          closed();
        }}
      />
    </header>
    <div class="body">${children}</div>
    ${footer && html`<footer>${footer}</footer>`}
  </dialog>`;
}

// confirm asks before an irreversible action. typed: a word to type for it.
export function confirm(options) {
  open(() => html`<${Confirm} ...${options} />`);
}

function Confirm({ title, children, word, act, harm = true, typed, extra }) {
  const [text, setText] = useState("");
  const [error, setError] = useState(null);
  const sure = !typed || text === typed;
  const go = async () => {
    setError(null);
    try {
      await act();
      close();
    } catch (reason) {
      setError(reason);
    }
  };
  const submit = (event) => {
    event.preventDefault();
    if (sure) event.target.closest("dialog").querySelector("footer .first").click();
  };
  return html`<${Dialog}
    title=${title}
    footer=${html`<${Cancel} /><${Button}
        kind=${"first" + (harm ? " harm" : "")}
        word=${word}
        disabled=${!sure}
        act=${go}
      />`}
    ><p>${children}</p>
    ${extra}${typed &&
    html`<form onSubmit=${submit}>
      <${Text} label=${t("confirm.type", { word: typed })} value=${text} on=${setText} kind="code" />
    </form>`}<${Trouble} error=${error}
  /><//>`;
}

// Menu is a button with a list of further actions. items: {word, icon, act, harm}, or
// null for a separator. It opens upwards if there is no room below.
export function Menu({ word, icon = "more", items, kind = "bare square", children }) {
  const [shown, setShown] = useState(false);
  const any = items.some(Boolean);
  const [up, setUp] = useState(false);
  const box = useRef(null);
  const list = useRef(null);
  const buttons = () => [...list.current.querySelectorAll("button")];
  const hide = (focus) => {
    setShown(false);
    if (focus) box.current.querySelector("button").focus();
  };
  useLayoutEffect(() => {
    if (!shown) return;
    const at = list.current.getBoundingClientRect();
    if (at.bottom > innerHeight - 8 && box.current.getBoundingClientRect().top > at.height) setUp(true);
    buttons()[0]?.focus({ preventScroll: true });
    const away = (event) => {
      if (!box.current.contains(event.target)) hide();
    };
    document.addEventListener("pointerdown", away);
    return () => {
      document.removeEventListener("pointerdown", away);
      setUp(false);
    };
  }, [shown]);
  const keys = (event) => {
    if (!shown) return;
    const all = buttons(),
      at = all.indexOf(document.activeElement);
    const next = {
      ArrowDown: (at + 1) % all.length,
      ArrowUp: (at - 1 + all.length) % all.length,
      Home: 0,
      End: all.length - 1,
    }[event.key];
    if (next !== undefined) all[next].focus();
    else if (event.key === "Escape") hide(true);
    else if (event.key === "Tab") return hide();
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const press = (item) => () => {
    hide(true);
    item.act();
  };
  return (
    any &&
    html`<div class=${"menu" + (up ? " up" : "")} ref=${box} onKeyDown=${keys}>
      <button
        type="button"
        class=${"button " + kind}
        aria-haspopup="menu"
        aria-expanded=${String(shown)}
        aria-label=${children ? undefined : word}
        title=${word}
        onClick=${() => setShown(!shown)}
      >
        ${children ? html`<span class="unseen">${word}: </span>${children}` : html`<${Icon} name=${icon} />`}
      </button>
      ${shown &&
      html`<ul ref=${list} role="menu" aria-label=${word}>
        ${items.map((item, i) =>
          item
            ? html`<li role="none" key=${i}>
                <button
                  type="button"
                  role="menuitem"
                  class=${item.harm ? "harm" : ""}
                  tabindex="-1"
                  aria-current=${item.current ? "true" : undefined}
                  onClick=${press(item)}
                >
                  <${Icon} name=${item.icon} />${item.word}
                </button>
              </li>`
            : html`<li role="separator" class="rule" key=${i}></li>`,
        )}
      </ul>`}
    </div>`
  );
}

// toast reports a completed action in one line. Errors are shown and stay where they
// occurred, never only in a toast.
const toasts = cell([]);
let toastCount = 0;

export function toast(text, icon = "check") {
  const id = ++toastCount;
  toasts.set([...toasts.value.slice(-2), { id, text, icon }]);
  setTimeout(() => dropToast(id), 5000);
}

const dropToast = (id) => toasts.set(toasts.value.filter((one) => one.id !== id));

export function Toasts() {
  const all = useCell(toasts);
  return html`<div class="toasts" role="status" aria-live="polite">
    ${all.map(
      (one) =>
        html`<div class="toast" key=${one.id}>
          <${Icon} name=${one.icon} /><span>${one.text}</span
          ><${Button}
            kind="bare square small"
            icon="close"
            word=${t("close")}
            act=${() => {
              dropToast(one.id);
            }}
          />
        </div>`,
    )}
  </div>`;
}

// useTitle sets the title of the browser tab.
export function useTitle(...parts) {
  const n = useCell(troubles, ({ items }) => items?.length || 0);
  const title = (n ? `(${n}) ` : "") + [...parts, "Postern"].filter(Boolean).join(" · ");
  useEffect(() => {
    document.title = title;
  }, [title]);
}
