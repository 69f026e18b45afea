// Work on many instances: a few calls at a time, and what became of each.
import { cell } from "./cell.js";
import { session } from "./session.js";

const atOnce = 5;

// work.value is null without work; else its title, items as {name, state, error}, whether it runs,
// and until when the server wants a pause. state is "waits", "runs", "done", "failed" or "left".
export const work = cell(null);

const publish = (part) => work.set({ ...work.value, ...part });

// begin calls act with each name. A refusal for now holds all calls until its end.
export function begin(title, names, act) {
  work.set({
    title,
    act,
    items: names.map((name) => ({ name, state: "waits", error: null })),
    running: true,
    until: 0,
  });
  return proceed();
}

async function proceed() {
  const { items, act } = work.value;
  const mine = () => work.value?.items === items;
  const next = () => mine() && items.find((one) => one.state === "waits");
  const one = async () => {
    for (let item = next(); item; item = next()) {
      const pause = work.value.until - Date.now();
      if (pause > 0) {
        await new Promise((done) => setTimeout(done, Math.min(pause, 1000)));
        continue;
      }
      item.state = "runs";
      publish();
      try {
        await act(item.name);
        item.state = "done";
      } catch (error) {
        if (error.until && mine()) {
          item.state = work.value.running ? "waits" : "left";
          publish({ until: Math.max(error.until, work.value.until) });
          continue;
        }
        Object.assign(item, { state: "failed", error });
      }
      if (mine()) publish();
    }
  };
  await Promise.all(Array.from({ length: atOnce }, one));
  if (mine()) publish({ running: false });
}

// stop lets the calls that were made end, and makes no further ones.
export function stop() {
  for (const item of work.value.items) if (item.state === "waits") item.state = "left";
  publish({ running: work.value.items.some((item) => item.state === "runs"), until: 0 });
}

// retry makes the calls again that failed.
export function retry() {
  const { title, act, items } = work.value;
  return begin(
    title,
    items.filter((item) => item.state === "failed").map((item) => item.name),
    act,
  );
}

export const dismiss = () => work.set(null);

addEventListener("beforeunload", (event) => {
  if (work.value?.running) event.preventDefault();
});
session.watch(({ state }) => {
  if (state === "out") dismiss();
});
