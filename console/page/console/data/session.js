// Who is signed in. The key is sent once and kept nowhere; what stays is a
// cookie that no script can read.
import { bytesOf, call, csrf, get, refused } from "./api.js";
import { cell } from "./cell.js";

// session.state is "unknown" until the server said which, "out", "in", or
// "lost": signed out in mid-work, by the end of the session or of its key.
export const session = cell({ state: "unknown" });

export async function loadSession() {
  try {
    enter(await get("/session", { signingIn: true }));
  } catch (error) {
    if (error.status !== 401) throw error;
    leave(session.value.state === "in" ? "lost" : "out");
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
    leave("out");
  }
}

function enter(answer) {
  csrf.set(answer.csrf);
  session.set({ state: "in", operator: !!answer.operator, key: answer.key || null, expiresAt: answer.expiresAt });
}

function leave(state) {
  csrf.set("");
  session.set(state === "lost" ? { ...session.value, state } : { state }); // the page that was worked on stays as it is
}

// A call that was refused for want of a credential ends the session for all.
refused.watch((refusal) => {
  if (refusal && session.value.state === "in") leave("lost");
  refused.set(null);
});

// can tells whether who is signed in may use what needs the scope. "operator" is
// what only the operator's own key opens.
// "everywhere" is what a key of all instances may.
export function can(...scopes) {
  const { state, operator, key } = session.value;
  if (state !== "in" && state !== "lost") return false;
  return operator || scopes.every((scope) => !scope || (scope === "everywhere" ? key?.instances?.includes("*") : key?.scopes?.includes(scope)));
}
