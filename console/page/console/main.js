// Where the console begins: language, looks, session, then the shell.
import { render } from "preact";
import { Shell } from "./shell.js";
import { loadSession, session } from "./data/session.js";
import { html } from "./html.js";
import { showTheme } from "./theme.js";
import { preferred, speak } from "./words.js";

showTheme();
await Promise.allSettled([
  speak(preferred()),
  loadSession().catch((error) => session.set({ state: "unreached", error })),
]);
const root = document.getElementById("console");
root.replaceChildren();
render(html`<${Shell} />`, root);
