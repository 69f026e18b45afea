// The frame of every page: navigation, connection state and the signed-in user.
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { NoAnswer, get } from "./data/api.js";
import { useCell } from "./data/cell.js";
import "./data/drafts.js";
import { live, tryNow } from "./data/live.js";
import { can, session, signOut } from "./data/session.js";
import { fleet } from "./data/fleet.js";
import { sandbox } from "./data/sandbox.js";
import { groupFor } from "./data/states.js";
import { pageOf, troubles } from "./data/troubles.js";
import { html } from "./html.js";
import { SignIn, SignInAgain } from "./pages/signin.js";
import { place, to } from "./router.js";
import { allowed, routeOf, routes } from "./routes.js";
import { chooseTheme, theme, themes } from "./theme.js";
import { Dialogs, Menu, Toasts, close } from "./ui/float.js";
import { Icon } from "./ui/icon.js";
import { chooseLanguage, openPalette, opener, signOutAs } from "./ui/palette.js";
import { Button, Empty, Loading, Trouble } from "./ui/parts.js";
import { clock, language, languages, many, number, t, useWords } from "./words.js";

export function Shell() {
  useWords();
  const { state } = useCell(session);
  useEffect(() => {
    if (state === "out") close();
  }, [state]);
  if (state === "in" || state === "lost") return html`<${Inside} lost=${state === "lost"} />`;
  return html`<${SignIn} /><${Toasts} />`;
}

function Inside({ lost }) {
  const [mine, setMine] = useState(allowed);
  const { state } = useCell(session);
  const { phones } = useCell(sandbox);
  useEffect(() => {
    if (state === "in") setMine(allowed());
  }, [state, !!phones]);
  const [menu, setMenu] = useState(false);
  const here = useCell(place);
  useEffect(() => setMenu(false), [here.parts.join("/")]);
  const keys = (event) => {
    if (event.key === "Escape" && menu) setMenu(false);
  };
  return html`<div class=${"shell" + (menu ? " menu-open" : "")} onKeyDown=${keys}>
    <a class="unseen" href="#main" onClick=${skip}>${t("skip")}</a>
    <header class="bar">
      <${Button}
        kind="bare square"
        icon=${menu ? "close" : "menu"}
        word=${t("menu")}
        aria-expanded=${String(menu)}
        act=${() => setMenu(!menu)}
      />
      <${Brand} /><${Pulse} />
    </header>
    <${Side} mine=${mine} shown=${menu} close=${() => setMenu(false)} />
    <div class="scrim" onClick=${() => setMenu(false)}></div>
    <main id="main" tabindex="-1"><${Away} /><${Page} mine=${mine} /></main>
    <${Dialogs} /><${Toasts} />${lost && html`<${SignInAgain} />`}
  </div>`;
}

function skip(event) {
  event.preventDefault(); // the hash is the route
  document.getElementById("main").focus();
}

const Brand = () =>
  html`<a class="brand" href=${to([])}><img src="dashboard/mark.svg" alt="" width="28" height="28" />Postern</a>`;

// Side is the navigation beside the page, or over it on a narrow screen: then it takes the
// focus and gives it back.
function Side({ mine, shown, close }) {
  const { parts } = useCell(place);
  const at = routeOf(parts, mine)?.at;
  const box = useRef(null);
  useEffect(() => {
    if (!shown) return;
    const before = document.activeElement;
    box.current.querySelector("button").focus();
    return () => {
      if (box.current?.contains(document.activeElement) || document.activeElement === document.body) before.focus();
    };
  }, [shown]);
  return html`<aside class="side" ref=${box} aria-label=${t("menu")}>
    <div class="side-head">
      <${Brand} /><${Button}
        kind="bare square"
        icon="close"
        word=${t("close")}
        act=${() => {
          close();
        }}
      />
    </div>
    <nav aria-label=${t("nav.label")}>
      ${["main", "keep"].map((where) => {
        const group = mine.filter((route) => route.where === where);
        return (
          group.length > 0 &&
          html`<ul class="links" key=${where}>
            ${group.map(
              (route) =>
                html`<li key=${route.at}>
                  <a href=${to([route.at])} aria-current=${route.at === at ? "page" : undefined}
                    ><${Icon} name=${route.icon} /><span>${t("nav." + route.at)}</span>${route.at === "instances"
                      ? html`<${Calling} />`
                      : html`<${Wrong} page=${route.at} />`}</a
                  >
                </li>`,
            )}
          </ul>`
        );
      })}
    </nav>
    <div class="foot">
      <${Pulse} words />
      <div class="tools"><${Tools} /></div>
    </div>
  </aside>`;
}

// Calling shows how many instances need attention.
function Calling() {
  const n = useCell(fleet, ({ rows }) =>
    rows.reduce((sum, row) => sum + (groupFor(row.connectionStatus) === "bad"), 0),
  );
  return (
    n > 0 &&
    html`<span class="count bad"
      ><span aria-hidden="true">${number(n)}</span><span class="unseen">${many("calling", n)}</span></span
    >`
  );
}

// Wrong shows how many troubles a page has.
function Wrong({ page }) {
  const n = useCell(troubles, ({ items }) => (items || []).filter((one) => pageOf(one.kind) === page).length);
  return (
    n > 0 &&
    html`<span class="count bad"
      ><span aria-hidden="true">${number(n)}</span><span class="unseen">${many("calling", n)}</span></span
    >`
  );
}

// Pulse shows the state of the live connection.
function Pulse({ words }) {
  const { state } = useCell(live);
  if (!can("read")) return null;
  const tone = { open: "good", closed: "busy", away: "bad" }[state];
  return html`<span class=${"pulse " + tone}
    ><span class="dot"></span><span class=${words ? "" : "unseen"}>${t("live." + state)}</span></span
  >`;
}

function Tools() {
  useCell(session);
  const chosen = useCell(theme),
    spoken = useCell(language);
  return html`<${Button}
      kind="bare square"
      icon="search"
      word=${t("palette.title") + " (" + opener + ")"}
      act=${openPalette}
    />
    <${Menu}
      word=${t("language")}
      kind="bare square"
      icon="globe"
      items=${Object.entries(languages).map(([code, name]) => ({
        word: name,
        icon: code === spoken ? "check" : "",
        current: code === spoken,
        act: () => chooseLanguage(code),
      }))}
    />
    <${Menu}
      word=${t("theme")}
      kind="bare square"
      icon=${chosen}
      items=${themes.map((name) => ({
        word: t("theme." + name),
        icon: name,
        current: name === chosen,
        act: () => chooseTheme(name),
      }))}
    />
    <a class="button bare square" href="docs" target="_blank" rel="noopener" aria-label=${t("docs")} title=${t("docs")}
      ><${Icon} name="docs"
    /></a>
    <${Button} kind="bare square" icon="leave" word=${signOutAs()} act=${signOut} />`;
}

// Away reports that the data is outdated, since when, and when the next attempt is.
function Away() {
  const { state, since, next } = useCell(live);
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    if (state !== "away") return;
    const timer = setInterval(() => setNow(Date.now()), 1000);
    setNow(Date.now());
    return () => clearInterval(timer);
  }, [state, next]);
  if (state !== "away") return null;
  const seconds = Math.max(0, Math.ceil((next - now) / 1000));
  return html`<div class="away notice bad">
    <${Icon} name="cut" />
    <div>
      <p role="status"><strong>${since ? t("live.old", { time: clock(since) }) : t("live.none")}</strong></p>
      <p class="do">${seconds ? many("live.again", seconds) : t("live.trying")}</p>
    </div>
    <div class="buttons"><${Button} kind="small" icon="restart" word=${t("live.now")} act=${tryNow} /></div>
  </div>`;
}

const scrolled = new Map(); // the place on each page, by address
addEventListener("scroll", () => document.querySelector("main h1") && scrolled.set(location.hash, scrollY), {
  passive: true,
});

const modules = new Map(); // loaded pages by route

// follow loads the page of another release, which the server runs now. It throws if the server runs this one or does
// not answer, and on a page that was just loaded: behind a proxy, servers of two releases may take turns.
async function follow() {
  const page = await (await fetch("./")).text();
  const [, there] = /dashboard\/(\w{16})\//.exec(page);
  if (import.meta.url.includes(there) || performance.now() < 2000) throw new Error(there);
  location.reload();
}

function Page({ mine }) {
  const { parts, query } = useCell(place);
  const route = routeOf(parts, mine);
  const [, again] = useState(0);
  const [error, setError] = useState(null);
  const before = useRef(null);
  useEffect(() => {
    let here = true;
    setError(null);
    const fail = (reason) => here && setError(reason);
    if (route && !modules.has(route))
      route.page().then(
        (Shown) => {
          modules.set(route, Shown);
          again((n) => n + 1);
        },
        // Browsers report a module that cannot be loaded as a TypeError.
        (reason) => (reason instanceof TypeError ? follow().catch(() => fail(new NoAnswer())) : fail(reason)),
      );
    return () => {
      here = false;
    };
  }, [route]);
  const ready = modules.has(route);
  useLayoutEffect(() => {
    // a new page starts at its heading, also for keyboard and screen reader
    const here = parts.slice(0, 2).join("/");
    if (!ready || before.current === here) return;
    if (before.current !== null) {
      document.querySelector("main h1")?.focus({ preventScroll: true });
      scrollTo(0, scrolled.get(location.hash) || 0);
    }
    before.current = here;
  }, [ready, parts.join("/")]);
  if (mine.length === 0) return html`<${Empty} icon="key" title=${t("nothing.title")}>${t("nothing.text")}<//>`;
  if (!route && routes.some((one) => one.at === parts[0] && can(one.scope) && one.when && one.when() === undefined))
    return html`<${Loading} />`;
  if (!route)
    return html`<${Empty}
      icon="search"
      title=${t("lost.title")}
      buttons=${html`<a class="button" href=${to([])}>${t("lost.back")}</a>`}
      >${t("lost.text")}<//
    >`;
  if (error)
    return html`<${Trouble} error=${error} again=${() => get("/health").then(() => location.reload(), setError)} />`;
  if (!ready) return html`<${Loading} />`;
  const Shown = modules.get(route);
  return html`<${Shown} key=${route.at} parts=${parts.slice(1)} query=${query} />`;
}
