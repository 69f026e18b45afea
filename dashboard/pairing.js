"use strict";

// The dialog that links an instance to a phone: the code to scan, and the
// steps of an account that is protected by a passkey.
let watched = null; // the instance that the dialog is about
let opened = false; // the dialog, since Connect was pressed
let sent = 0; // when an answer was last taken, in milliseconds
const silence = 20000; // milliseconds after which an answer came to nothing
const parts = ["qr", "sign", "compare"];

const pathOf = (instance) => "/instance/" + encodeURIComponent(instance.name);

// connect leads through the pairing until the instance is linked, the attempt
// ends or the dialog is closed.
async function connect(instance) {
  watched = instance;
  opened = false;
  sent = 0;
  byId("answer").value = "";
  show("trouble", "");
  try {
    await pair(instance, pathOf(instance));
  } finally {
    if (watched === instance) shut();
  }
}

// shut ends what the dialog does at once. Its own event of that comes later,
// when somebody may have pressed Connect again.
function shut() {
  watched = null;
  byId("scan").close();
}

async function pair(instance, path) {
  let code = await call("GET", path + "/connect", owner(instance));
  let passkey = null; // as last seen
  while (watched === instance && !code.alreadyConnected) {
    if (code.base64) drawCode(instance, code);
    if (byId("scan").open) await sleep();
    if (watched !== instance) return;
    // To connect when the codes are used up would begin anew, without end.
    const status = await look(path + "/connection/status", owner(instance));
    if (watched !== instance || status.state === "open") return;
    if (status.state === "close") throw new Error(ended(instance, status, passkey));
    passkey = status.passkey || passkey;
    if (status.passkey) {
      await drawPasskey(instance, status.passkey);
    } else if (status.connectionStatus === "PAIRING") {
      wait(instance, "The phone took the code. WhatsApp completes the link.");
    } else {
      code = await call("GET", path + "/connect", owner(instance));
      if (!code.base64) wait(instance, "Waiting for WhatsApp.");
      continue;
    }
    code = {};
  }
}

function ended(instance, status, passkey) {
  const why = status.lastError ? status.connectionStatus + ": " + status.lastError : status.connectionStatus;
  return passkey ?
    "The passkey of " + instance.name + " did not come to a link (" + why + "). Press Connect to begin anew." :
    "No phone took the code of " + instance.name + " (" + why + "). Press Connect for a new one.";
}

// part shows one part of the dialog, "" for none.
function part(instance, name) {
  const before = parts.find((id) => !byId(id).hidden);
  for (const id of parts) byId(id).hidden = id !== name;
  byId("instance").textContent = instance.name;
  if (!byId("scan").open) byId("scan").showModal();
  opened = true;
  if (before === name || !name) return;
  show("trouble", "");
  const first = byId(name).querySelector("a, button");
  if (first) first.focus();
}

function drawCode(instance, code) {
  show("waiting", "");
  part(instance, "qr");
  byId("image").src = code.base64;
  byId("hint").textContent = "Open WhatsApp, Linked devices, Link a device. Code " + code.count + ".";
}

function wait(instance, text) {
  part(instance, "");
  show("waiting", text);
}

async function drawPasskey(instance, passkey) {
  if (passkey.step === "compare") {
    show("waiting", "");
    part(instance, "compare");
    byId("digits").textContent = passkey.code;
  } else if (passkey.step === "done") {
    wait(instance, "That was all. WhatsApp completes the link.");
  } else if (sent) {
    if (Date.now() - sent < silence) return wait(instance, "WhatsApp checks the answer. Keep your phone at hand, unlocked.");
    sent = 0;
    await ask(instance);
    show("trouble", "Nothing followed the answer. Copy the line and go through the steps once more.");
  } else {
    await ask(instance);
  }
}

// ask shows the way to the signature. The line is fetched anew each time: an
// old one asks for what WhatsApp does not wait for any more.
async function ask(instance) {
  const line = await call("GET", pathOf(instance) + "/connect/passkey/script", owner(instance)).catch((error) => {
    if (error.code === "PASSKEY_NOT_EXPECTED") return ""; // it went on meanwhile; the next look sees where
    throw error;
  });
  if (watched !== instance || !line) return;
  if (byId("line").value !== line) show("copied", "");
  byId("line").value = line;
  show("waiting", "");
  part(instance, "sign");
}

// copyLine works without a secure connection too, where browsers have no other
// clipboard than that of a selection.
async function copyLine() {
  try {
    await navigator.clipboard.writeText(byId("line").value);
  } catch {
    byId("whole").open = true;
    byId("line").select();
    if (!document.execCommand("copy")) throw new Error("Your browser does not let this page copy. Copy the text in the box yourself.");
  }
  show("copied", "Copied.");
}

// sendAnswer takes what was pasted, from its first brace to its last: consoles
// put quotes around a text.
async function sendAnswer() {
  const text = byId("answer").value;
  if (text.includes("navigator.credentials")) throw new Error("This is the line itself. Paste it on WhatsApp's page; what you get there belongs here.");
  let answer;
  try {
    answer = JSON.parse(text.slice(text.indexOf("{"), text.lastIndexOf("}") + 1));
  } catch {
    throw new Error("This is not the whole answer. It begins with { and ends with }. Copy all of it, and paste it again.");
  }
  await call("POST", pathOf(watched) + "/connect/passkey/assertion", owner(watched), answer);
  byId("answer").value = "";
  sent = Date.now();
  wait(watched, "WhatsApp checks the answer. Keep your phone at hand, unlocked.");
}

async function confirmCode() {
  await call("POST", pathOf(watched) + "/connect/passkey/confirm", owner(watched));
  wait(watched, "That was all. WhatsApp completes the link.");
}

async function giveUp() {
  const { name } = watched;
  await call("DELETE", pathOf(watched) + "/logout", owner(watched));
  shut();
  show("error", "Nothing was linked. If the codes differ once more, somebody else may be trying to link your account: look at Linked devices on the phone of " + name + ".");
}

// troubles are the refusals of the server, as the reader of the dialog can
// do something about them.
const troubles = {
  PASSKEY_NOT_EXPECTED: "WhatsApp does not wait for this answer any more. Copy the line and go through the steps once more.",
  PASSKEY_REFUSED: "WhatsApp did not accept this passkey. Use the passkey of the account whose phone took the code: copy the line and try again.",
  INVALID_ASSERTION: "This is not the whole answer. Copy all of it, and paste it again.",
  UNKNOWN_FIELD: "This is not the answer of the line. Go through the steps once more.",
  MISSING_FIELD: "This is not the whole answer. Copy all of it, and paste it again.",
  BODY_TOO_LARGE: "This is far more than the answer. Copy only the text from { to }.",
  CONNECT_TIMEOUT: "WhatsApp did not answer in time. Try again.",
};

function on(id, what, action) {
  byId(id).addEventListener(what, async (event) => {
    event.preventDefault();
    if (!watched) return;
    show("trouble", "");
    const control = event.submitter || event.currentTarget;
    control.disabled = true; // until it is done: twice would be two answers
    try {
      await action();
    } catch (error) {
      show("trouble", troubles[error.code] || error.message);
    } finally {
      control.disabled = false;
    }
  });
}

on("copy", "click", copyLine);
on("back", "submit", sendAnswer);
on("same", "click", confirmCode);
on("other", "click", giveUp);
byId("close").addEventListener("click", shut);
byId("scan").addEventListener("close", () => { // by the keyboard, or long ago
  if (opened && !byId("scan").open) watched = null;
});
