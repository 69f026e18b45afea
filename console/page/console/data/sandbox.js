// The phones of the sandbox, if the program runs with one.
import { get } from "./api.js";
import { cell } from "./cell.js";
import { onLive } from "./live.js";
import { can, session } from "./session.js";

// sandbox.phones is null without a sandbox, undefined before that is known.
export const sandbox = cell({ phones: undefined, error: null });

export async function loadSandbox() {
  if (!can("operator")) return;
  try {
    sandbox.set({ phones: await get("/sandbox/phones"), error: null });
  } catch (error) {
    sandbox.set({ phones: error.status === 404 ? null : sandbox.value.phones, error });
  }
}

let reloading = 0;
const reloadSoon = () => {
  if (sandbox.value.phones)
    reloading ||= setTimeout(() => {
      reloading = 0;
      loadSandbox();
    }, 300);
};
onLive("instance", reloadSoon);
onLive("instanceDeleted", reloadSoon);

session.watch(({ state }) => {
  if (state === "in") loadSandbox();
  else if (state === "out") sandbox.set({ phones: undefined, error: null });
});
