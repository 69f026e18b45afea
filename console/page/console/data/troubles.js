// What is wrong, as far as the signed-in user may see it.
import { get } from "./api.js";
import { cell } from "./cell.js";
import { onLive, onReload } from "./live.js";
import { can, session } from "./session.js";

// troubles.items is null until they are loaded, and after a load that failed: unknown.
export const troubles = cell({ items: null, error: null });

export async function loadTroubles() {
  if (!can("read")) return;
  try {
    troubles.set({ items: (await get("/troubles")).items || [], error: null });
  } catch (error) {
    troubles.set({ items: null, error });
  }
}

// pageOf returns the page that shows what a kind is about.
export function pageOf(kind) {
  if (kind.startsWith("BATCH_")) return "batches";
  if (kind.startsWith("EVENTS_") || kind === "RECEIVER_FAILING") return "deliveries";
  return kind.startsWith("INSTANCE_") || kind === "PHONE_NOT_SEEN" || kind === "UNDELIVERED" ? "instances" : "";
}

onLive("troubles", ({ items }) => troubles.set({ items: items || [], error: null }));
onReload(() => session.value.state === "in" && loadTroubles());
session.watch(({ state }) => {
  if (state === "out") troubles.set({ items: null, error: null });
});
