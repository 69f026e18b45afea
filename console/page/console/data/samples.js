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
session.watch(({ state }) => { if (state === "out") samples.set({ list: [], backup: undefined, at: 0, error: null }); });
