// Light, dark, or as the system has it.
import { cell } from "./data/cell.js";
import { store, stored } from "./words.js";

export const themes = ["auto", "light", "dark"];
export const theme = cell(themes.includes(stored("theme")) ? stored("theme") : "auto");

export function showTheme() {
  if (theme.value === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme.value;
}

export function chooseTheme(name) {
  store("theme", name === "auto" ? "" : name);
  theme.set(name);
  showTheme();
}
