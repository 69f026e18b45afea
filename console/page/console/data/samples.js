// The samples of the last day, one a minute, the last being the running minute; and the
// state of the backups.
import { get } from "./api.js";
import { cell } from "./cell.js";
import { onLive, onReload } from "./live.js";
import { can, session } from "./session.js";

export const samples = cell({ list: [], backup: undefined, at: 0, error: null });

const kept = 24 * 60;

export async function loadSamples() {
  if (!can("operator")) return;
  try {
    const answer = await get("/admin/samples");
    samples.set({ list: answer.samples || [], backup: answer.backup, at: Date.now(), error: null });
  } catch (error) {
    samples.set({ ...samples.value, error });
  }
}

// byHour returns the samples of the last 30 days, one an hour: those loaded, and since the last of them,
// which was still running, the sums of minutes.
export function byHour(hours, minutes) {
  const hourOf = (sample) => Math.floor(Date.parse(sample.at) / 3.6e6),
    last = hours.length ? hourOf(hours.at(-1)) : 0;
  const made = new Map(hours.map((one) => [hourOf(one), one]));
  made.delete(last);
  for (const one of minutes) {
    const hour = hourOf(one),
      sum = made.get(hour);
    if (hour < last) continue;
    made.set(hour, { ...one, ...(sum && Object.fromEntries(figures.map((name) => [name, sum[name] + one[name]]))) });
  }
  return [...made.values()];
}

// The figures that are counted.
export const figures = ["received", "sent", "deliveries", "failed"];

const minuteOf = (sample) => Math.floor(Date.parse(sample.at) / 60000);

// The running minute is sent repeatedly until it ends.
onLive("figures", ({ figures }) => {
  if (!samples.value.at) return;
  const list = samples.value.list.slice(-kept);
  if (list.length && minuteOf(list.at(-1)) === minuteOf(figures)) list.pop();
  list.push(figures);
  samples.set({ ...samples.value, list, at: Date.now() });
});
onReload(() => session.value.state === "in" && (samples.value.at || samples.value.error) && loadSamples());
session.watch(({ state }) => {
  if (state === "out") samples.set({ list: [], backup: undefined, at: 0, error: null });
});
