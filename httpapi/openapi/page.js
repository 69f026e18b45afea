
"use strict";

const all = (selector, root = document) => [...root.querySelectorAll(selector)];
const one = (selector, root = document) => root.querySelector(selector);
document.body.classList.add("scripted");

// The address in the examples is the page's own, which may be below a path.
const base = location.pathname.replace(/\/docs\/?$/, "");
if (location.protocol.startsWith("http")) {
  for (const code of all(".sample pre")) {
    code.textContent = code.textContent
      .replaceAll("http://localhost:8084", location.origin + base)
      .replaceAll("ws://localhost:8084", location.origin.replace("http", "ws") + base);
  }
}

function speak(language) {
  for (const sample of all(".sample")) sample.classList.toggle("shown", sample.dataset.language === language);
  for (const button of all(".languages button")) button.setAttribute("aria-pressed", button.dataset.language === language);
}
for (const button of all(".languages button")) {
  button.addEventListener("click", () => {
    const top = button.getBoundingClientRect().top;
    speak(button.dataset.language);
    scrollBy(0, button.getBoundingClientRect().top - top); // examples above have other lengths now
  });
}
speak("curl");

// On a narrow screen the menu would hide the page.
const narrow = matchMedia("(max-width: 56rem)");
const menu = one("#menu");
const fold = () => { menu.open = !narrow.matches; };
narrow.addEventListener("change", fold);
fold();
all("#menu a").forEach((link) => link.addEventListener("click", () => { if (narrow.matches) menu.open = false; }));

// Search: every word has to be somewhere in a route.
const search = one("#search");
const entries = all("#menu li a").map((link) => {
  const target = document.getElementById(decodeURIComponent(link.hash.slice(1)));
  return { item: link.parentElement, target, text: (link.textContent + " " + (target?.textContent ?? "")).toLowerCase() };
});
search.addEventListener("input", () => {
  const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  let found = 0;
  for (const { item, target, text } of entries) {
    const fits = words.every((word) => text.includes(word));
    item.hidden = !fits;
    if (target?.matches("article")) target.hidden = !fits;
    if (fits) found++;
  }
  for (const group of all("#menu .group")) group.hidden = all("li", group).every((item) => item.hidden);
  for (const section of all("main > section")) {
    const routes = all("article[data-method]", section);
    if (routes.length) section.hidden = routes.every((route) => route.hidden);
  }
  one("#found").textContent = words.length ? found + " found" : "";
});
document.addEventListener("keydown", (event) => {
  if (event.key === "/" && !event.ctrlKey && !event.metaKey && !event.altKey && !event.target.closest("input, textarea")) {
    event.preventDefault();
    menu.open = true;
    search.focus();
  } else if (event.key === "Escape" && event.target === search && search.value) {
    search.value = "";
    search.dispatchEvent(new Event("input"));
  }
});
// A link to a route hidden by the search shows it.
addEventListener("hashchange", () => {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (target?.closest("[hidden]")) {
    search.value = "";
    search.dispatchEvent(new Event("input"));
    target.scrollIntoView();
  }
});

// Trying a route.
function credentialOf(route) {
  const name = route.dataset.credential;
  if (!name) return null;
  if (name === "token") return (one("#UserBearer").value && route.dataset.path.includes("global") ? one("#UserBearer") : one("#InstanceBearer")).value;
  return one("#" + name).value;
}

function requestOf(route, form) {
  let path = base + route.dataset.path;
  const query = new URLSearchParams();
  const options = { method: route.dataset.method, headers: {} };
  const parts = new FormData();
  let file;
  for (const field of all("[data-in]", form)) {
    const value = field.value;
    switch (field.dataset.in) {
      case "path": path = path.replace("{" + field.name + "}", encodeURIComponent(value)); break;
      case "query": if (value !== "") query.append(field.name, value); break;
      case "header": if (value !== "") options.headers[field.name] = value; break;
      case "body": if (value.trim() !== "") { options.body = value; options.headers["content-type"] = "application/json"; } break;
      case "form":
        if (field.type === "file" && field.files.length) file = field;
        else if (field.type !== "file" && value !== "") parts.append(field.name, value);
    }
  }
  if (file) { parts.append(file.name, file.files[0]); options.body = parts; delete options.headers["content-type"]; }
  const credential = credentialOf(route);
  if (credential && route.dataset.credential === "GlobalApiKey") options.headers.apikey = credential;
  else if (credential) options.headers.authorization = "Bearer " + credential;
  const search = query.toString();
  return { url: path + (search ? "?" + search : ""), options };
}

// Fill in a token from an answer for the next route.
function takeOver(id, answer) {
  if (id === "createUserToken") one("#UserBearer").value = answer.token;
  if (id === "createInstance") one("#InstanceBearer").value = answer.Auth.token;
  if (id === "issueInstanceToken" || id === "refreshInstanceToken") one("#InstanceBearer").value = answer.token;
}

async function show(id, response, result) {
  const line = document.createElement("p");
  line.textContent = response.status + " " + response.statusText + " · x-request-id " + (response.headers.get("x-request-id") ?? "none");
  const kind = response.headers.get("content-type") ?? "";
  if (kind.startsWith("application/json") || kind.startsWith("text/")) {
    const text = await response.text();
    const box = document.createElement("pre");
    box.tabIndex = 0;
    try {
      const answer = JSON.parse(text);
      box.textContent = JSON.stringify(answer, null, 2);
      if (response.ok) takeOver(id, answer);
    } catch { box.textContent = text; }
    result.replaceChildren(...(text ? [line, box] : [line]));
    return;
  }
  const content = await response.blob();
  result.replaceChildren(line);
  if (!content.size) return;
  const link = document.createElement("a");
  link.href = URL.createObjectURL(content);
  link.download = id;
  link.textContent = "Save " + content.size + " bytes of " + (kind || "unknown type");
  result.append(link);
  if (kind.startsWith("image/")) {
    const picture = document.createElement("img");
    picture.src = link.href;
    picture.alt = "the answer";
    result.append(picture);
  }
}

const sockets = new Map();
function listen(route, form, result) {
  const { url } = requestOf(route, form);
  const address = new URL(url, location.href);
  address.protocol = address.protocol.replace("http", "ws");
  if (!address.searchParams.has("token")) address.searchParams.set("token", credentialOf(route) ?? "");
  sockets.get(route)?.close();
  const box = document.createElement("pre");
  box.tabIndex = 0;
  box.textContent = "connecting\n";
  result.replaceChildren(box);
  const note = (text) => { box.textContent = (box.textContent + text + "\n").slice(-20000); box.scrollTop = box.scrollHeight; };
  const socket = new WebSocket(address);
  sockets.set(route, socket);
  socket.onopen = () => note("connected");
  socket.onmessage = (message) => note(message.data);
  socket.onclose = (end) => note("closed " + end.code + " " + end.reason);
}

for (const form of all(".try form")) {
  const route = form.closest("article");
  const result = one(".result", route);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if ("socket" in route.dataset) return listen(route, form, result);
    const button = one("button", form);
    button.disabled = true;
    result.textContent = "waiting for the answer";
    try {
      const { url, options } = requestOf(route, form);
      await show(route.id, await fetch(url, options), result);
    } catch (error) {
      result.textContent = "no answer: " + error.message;
    }
    button.disabled = false;
    button.focus();
  });
}
one("#credentials").addEventListener("submit", (event) => event.preventDefault());
