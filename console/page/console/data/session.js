// The session. The key is sent once and not stored; the session is an HttpOnly cookie.
import { bytesOf, call, csrf, get, refused } from "./api.js";
import { cell } from "./cell.js";

// session.state is "unknown" before the first answer, "out", "in", or "lost": the session or
// its key ended during work.
export const session = cell({ state: "unknown" });

export async function loadSession() {
  try {
    entered(await get("/session", { signingIn: true }));
  } catch (error) {
    if (error.status !== 401) throw error;
    left(session.value.state === "in" ? "lost" : "out");
  }
}

export async function signIn(key) {
  await call("POST", "/session", undefined, { signingIn: true, headers: { apikey: bytesOf(key) } });
  await loadSession();
}

export async function signOut() {
  try {
    await call("DELETE", "/session", undefined, { signingIn: true });
  } finally {
    left("out");
  }
}

function entered(answer) {
  csrf.set(answer.csrf);
  session.set({ state: "in", operator: !!answer.operator, key: answer.key || null, expiresAt: answer.expiresAt });
}

function left(state) {
  csrf.set("");
  session.set(state === "lost" ? { ...session.value, state } : { state }); // the current page stays as it is
}

// A call refused for a missing credential ends the session.
refused.watch((refusal) => {
  if (refusal && session.value.state === "in") left("lost");
  refused.set(null);
});

// can reports whether the session has the scope. "operator": only the operator's key.
// "everywhere": only a key for all instances.
export function can(...scopes) {
  const { state, operator, key } = session.value;
  if (state !== "in" && state !== "lost") return false;
  return (
    operator ||
    scopes.every(
      (scope) => !scope || (scope === "everywhere" ? key?.instances?.includes("*") : key?.scopes?.includes(scope)),
    )
  );
}
