// A virtual list: only the visible rows and the focused row are in the page, so two thousand
// rows cost as much as twenty.
import { Component } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { html } from "../html.js";
import { language } from "../words.js";

const around = 6; // extra rows at either edge

// Windowed draws items in rows of one height (in rem), within the scroll of the page or of
// the enclosing box. draw makes a row; keyOf returns its key. The arrow keys move between
// rows.
export function Windowed({ items, height, draw, keyOf, label, head }) {
  const box = useRef(null);
  const [range, setRange] = useState([0, 24]);
  const [held, setHeld] = useState(null); // key of the focused row
  const [px, setPx] = useState(() => height * rem());
  useLayoutEffect(() => {
    let frame = 0;
    const look = () => {
      frame = 0;
      const row = height * rem();
      setPx(row);
      const scroller = box.current.closest("[data-scrolls]");
      const top = scroller
        ? box.current.getBoundingClientRect().top - scroller.getBoundingClientRect().top
        : box.current.getBoundingClientRect().top;
      const from = Math.max(0, Math.floor(-top / row) - around);
      const until = Math.max(
        around,
        Math.ceil((-top + (scroller ? scroller.clientHeight : innerHeight)) / row) + around,
      );
      setRange((before) => (before[0] === from && before[1] === until ? before : [from, until]));
    };
    const soon = () => {
      frame ||= requestAnimationFrame(look);
    };
    look();
    addEventListener("scroll", soon, { capture: true, passive: true });
    addEventListener("resize", soon);
    return () => {
      cancelAnimationFrame(frame);
      removeEventListener("scroll", soon, { capture: true });
      removeEventListener("resize", soon);
    };
  }, [height]);
  useEffect(() => {
    // the list became shorter than the scroll position
    if (range[0] >= items.length && items.length) window.dispatchEvent(new Event("resize"));
  }, [items.length]);

  const shown = [];
  const heldAt = held === null ? -1 : items.findIndex((item) => keyOf(item) === held);
  if (heldAt >= 0 && heldAt < range[0]) shown.push(heldAt);
  for (let i = Math.min(range[0], items.length); i < Math.min(range[1], items.length); i++) shown.push(i);
  if (heldAt >= range[1]) shown.push(heldAt);

  const move = (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10 }[event.key];
    if (!step || event.defaultPrevented || event.target.closest("[role=menu], input, select, textarea")) return;
    const row = event.target.closest("[data-row]");
    if (!row) return;
    event.preventDefault();
    const to = Math.max(0, Math.min(items.length - 1, Number(row.dataset.row) + step));
    setHeld(keyOf(items[to]));
    requestAnimationFrame(() => {
      const next = box.current?.querySelector(`[data-row="${to}"]`);
      (next?.querySelector("a, button") || next)?.focus();
      next?.scrollIntoView({ block: "nearest" });
    });
  };
  const focused = (event) => {
    const row = event.target.closest("[data-row]");
    if (row && items[row.dataset.row]) setHeld(keyOf(items[row.dataset.row]));
  };
  const blurred = (event) => {
    if (!event.relatedTarget || !box.current.contains(event.relatedTarget)) setHeld(null);
  };
  return html`<div class="windowed" role="table" aria-label=${label} aria-rowcount=${items.length + (head ? 1 : 0)}>
    ${head && html`<div role="rowgroup" class="head">${head}</div>`}
    <div
      role="rowgroup"
      class="rows"
      ref=${box}
      style=${{ height: items.length * px + "px" }}
      onKeyDown=${move}
      onFocusIn=${focused}
      onFocusOut=${blurred}
    >
      ${shown.map(
        (i) =>
          html`<${Slot}
            key=${keyOf(items[i])}
            item=${items[i]}
            at=${i}
            px=${px}
            first=${head ? 2 : 1}
            draw=${draw}
            spoken=${language.value}
          />`,
      )}
    </div>
  </div>`;
}

// Slot is a row in its position. It is redrawn only when its properties change, so draw must
// be a stable function that depends only on the item.
class Slot extends Component {
  shouldComponentUpdate(next) {
    return Object.keys(next).some((name) => next[name] !== this.props[name]);
  }

  render({ item, at, px, first, draw }) {
    return html`<div
      role="row"
      class="row"
      data-row=${at}
      aria-rowindex=${at + first}
      style=${{ height: px + "px", transform: `translateY(${at * px}px)` }}
    >
      ${draw(item)}
    </div>`;
  }
}

const rem = () => parseFloat(getComputedStyle(document.documentElement).fontSize);
