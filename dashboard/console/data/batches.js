// Batches: which states there are, and what is asked of the server about them.
import { call, get, query } from "./api.js";
import { session } from "./session.js";

// Each state has a tone and an icon. Those of "ended" can be deleted, and change no more.
export const states = {
  DRAFT: ["off", "docs"], SCHEDULED: ["off", "clock"], QUEUED: ["busy", "busy"], PROCESSING: ["busy", "busy"],
  WAITING_FOR_INSTANCE: ["bad", "bad"], WAITING_FOR_WINDOW: ["off", "clock"], PAUSE_REQUESTED: ["busy", "held"], PAUSED: ["off", "held"],
  STOP_REQUESTED: ["busy", "off"], STOPPED: ["off", "off"], INTERRUPTED: ["bad", "bad"], COMPLETED: ["good", "good"], COMPLETED_WITH_ERRORS: ["bad", "bad"],
};
export const ended = (status) => /^(STOPPED|COMPLETED|COMPLETED_WITH_ERRORS)$/.test(status);
export const can = {
  start: (status) => /^(DRAFT|PAUSED|INTERRUPTED)$/.test(status),
  pause: (status) => /^(QUEUED|SCHEDULED|PROCESSING|WAITING_FOR_INSTANCE|WAITING_FOR_WINDOW)$/.test(status),
  stop: (status) => !ended(status) && status !== "STOP_REQUESTED",
};

// filters are groups of states, as one looks for them.
export const filters = {
  running: ["QUEUED", "PROCESSING", "WAITING_FOR_INSTANCE", "WAITING_FOR_WINDOW", "SCHEDULED", "PAUSE_REQUESTED", "STOP_REQUESTED"],
  rest: ["DRAFT", "PAUSED", "INTERRUPTED"],
  errors: ["COMPLETED_WITH_ERRORS"],
  done: ["COMPLETED", "STOPPED"],
};

export const itemStates = { PENDING: ["off", "clock"], SENDING: ["busy", "busy"], SUCCESS: ["good", "good"], FAILED: ["bad", "bad"], SKIPPED: ["off", "off"], UNKNOWN: ["bad", "info"] };

// as says whose batches are meant. A key has a user of its own; the operator names one.
export const as = (user) => session.value.operator && user ? { headers: { "x-postern-user": user } } : {};
export const pathOf = (id) => "/message/batches/" + encodeURIComponent(id);
export const listOf = (values) => session.value.operator ? "/admin/batches" + query(values) : "/message/batches" + query({ ...values, ownerUserId: "" });

export const act = (batch, what) => call("POST", pathOf(batch.id) + "/" + what, undefined, as(batch.ownerUserId));

// itemsOf reads all items, page by page; each calls with how many there are so far.
export async function itemsOf(batch, status, each, signal) {
  const all = [];
  for (let nextCursor = ""; ; ) {
    const page = await get(pathOf(batch.id) + "/items" + query({ status, limit: 200, nextCursor }), { ...as(batch.ownerUserId), signal });
    all.push(...page.records);
    each?.(all.length);
    nextCursor = page.nextCursor;
    if (!nextCursor) return all;
  }
}

// again is a draft for those whom a batch did not reach.
export async function again(batch, name) {
  const failed = await itemsOf(batch, "FAILED");
  return call("POST", "/message/batches", {
    name: name.slice(0, 255), instances: batch.instances.map((one) => one.name), recipients: failed.map((item) => item.normalizedRecipient), message: batch.message,
    options: batch.options, autoStart: false, autoResume: batch.autoResume,
    ...(batch.schedule?.recurrence === "DAILY" && { schedule: batch.schedule }),
  }, { ...as(batch.ownerUserId), patience: 60000 });
}
