// The live connection: one WebSocket that reports changes. While it is closed, the page
// shows that, polls over HTTP and reconnects.
import { get, socketAt } from "./api.js";
import { cell } from "./cell.js";
import { can, loadSession, session } from "./session.js";

// live.state is "closed", "open" or "away", which is closed for longer than grace. since is
// when the data was last current; next is the time of the next attempt.
export const live = cell({ state: "closed", since: 0, next: 0 });

const pauses = [500, 1000, 2000, 5000, 10000, 15000]; // milliseconds
const grace = 1500; // a shorter interruption is not shown
const listeners = new Map(); // by message type
const reloaders = new Set();
let socket = null,
  tries = 0,
  timer = 0,
  wordTimer = 0;

// onLive calls back with each message of a type and returns the function that stops it.
export function onLive(type, listener) {
  if (!listeners.has(type)) listeners.set(type, new Set());
  listeners.get(type).add(listener);
  return () => listeners.get(type).delete(listener);
}

// onReload calls back when loaded data may be outdated and returns the function that stops it.
export function onReload(reload) {
  reloaders.add(reload);
  return () => reloaders.delete(reload);
}

const reload = () => Promise.allSettled([...reloaders].map((one) => one()));

function dial() {
  clearTimeout(timer);
  if (!can("read")) return void (timer = setTimeout(poll, 15000));
  const mine = (socket = new WebSocket(socketAt("/ws/console")));
  mine.addEventListener("message", async (event) => {
    const message = JSON.parse(event.data);
    if (message.type === "hello") {
      tries = 0;
      clearTimeout(wordTimer);
      wordTimer = 0;
      await reload(); // it applies messages that arrive meanwhile
      if (socket === mine) live.set({ state: "open", since: Date.now(), next: 0 });
      return;
    }
    for (const listener of listeners.get(message.type) || []) listener(message);
  });
  mine.addEventListener("close", (event) => {
    if (socket !== mine) return;
    socket = null;
    again(event.code === 4001 || event.code === 4003);
  });
}

// poll stands in for the live connection, which a key needs the scope read for.
async function poll() {
  if (!document.hidden) await reload();
  if (session.value.state === "in") dial();
}

async function again(revoked) {
  const was = live.value;
  const pause = pauses[Math.min(tries++, pauses.length - 1)];
  const next = Date.now() + pause;
  live.set({
    ...was,
    state: was.state === "away" ? "away" : "closed",
    since: was.state === "open" ? Date.now() : was.since,
    next,
  });
  if (was.state !== "away")
    wordTimer ||= setTimeout(() => {
      wordTimer = 0;
      live.set({ ...live.value, state: "away" });
    }, grace);
  clearTimeout(timer);
  timer = setTimeout(tryNow, pause);
  if (revoked) await loadSession().catch(() => {});
}

// tryNow reconnects. After repeated failures it also polls over HTTP, in case only WebSockets
// are blocked.
export async function tryNow() {
  if (socket || session.value.state !== "in" || !can("read")) return;
  dial();
  if (tries < 2) return;
  try {
    await get("/health", { patience: 5000 });
    await reload();
    if (live.value.state !== "open") live.set({ ...live.value, since: Date.now() });
  } catch {
    // reported already
  }
}

session.watch(({ state }) => {
  if (state === "in") {
    tries = 0;
    if (!socket) dial();
    return;
  }
  clearTimeout(timer);
  clearTimeout(wordTimer);
  wordTimer = 0;
  const mine = socket;
  socket = null;
  mine?.close();
  live.set({ state: "closed", since: 0, next: 0 });
});

window.addEventListener("online", tryNow);
document.addEventListener("visibilitychange", () => {
  if (!document.hidden) tryNow();
});
