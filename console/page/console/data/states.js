// The connection states by group. Each group has one colour and one icon everywhere.
export const groups = ["good", "busy", "wait", "bad", "off"];

const groupOf = {
  online: "good",
  connecting: "busy",
  reconnecting: "busy",
  keepalive_timeout: "busy",
  pairing: "busy",
  qr_code: "wait",
  pairing_code: "wait",
  disconnected: "bad",
  logged_out: "bad",
  stream_replaced: "bad",
  connection_error: "bad",
  session_missing: "bad",
  client_outdated: "bad",
  temporary_ban: "bad",
  offline: "off",
  connection_timeout: "off",
  moved: "off",
};

export const states = Object.keys(groupOf);

// seen returns the instance as shown: one that has an account but is offline has moved to
// another Postern.
export const seen = (row) =>
  row.ownerJid && row.connectionStatus === "offline" ? { ...row, connectionStatus: "moved" } : row;

// stateOf returns a state's name in lower case; groupFor its group, "off" for an unknown
// state.
export const stateOf = (state) => String(state || "offline").toLowerCase();
export const groupFor = (state) => groupOf[stateOf(state)] || "off";

// linked reports whether the state implies a linked phone.
export const linked = (state) =>
  [
    "online",
    "connecting",
    "reconnecting",
    "keepalive_timeout",
    "disconnected",
    "stream_replaced",
    "client_outdated",
    "temporary_ban",
    "connection_error",
  ].includes(stateOf(state));

// numberOf returns the phone number in the address of an account.
export function numberOf(jid) {
  const [, digits] = /^(\d{5,20})(?::\d+)?@s\.whatsapp\.net$/.exec(jid || "") || [];
  return digits ? "+" + digits : jid || "";
}
