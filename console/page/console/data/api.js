// Calls of the HTTP API. All requests of the page go through here.
import { cell } from "./cell.js";

// csrf is the token of the session: changing calls need it, some of which are GETs.
export const csrf = cell("");
// refused is set to the refusal of a call whose session has ended.
export const refused = cell(null);

const patience = 20000; // default timeout of a call in milliseconds

// Refusal is an error response; NoAnswer is a missing response.
export class Refusal extends Error {
  constructor(status, details, text) {
    super((details.messages || details.reasons || [text || String(status)]).join("; "));
    Object.assign(this, {
      name: "Refusal",
      status,
      code: details.code || "",
      requestId: details.requestId || "",
      details,
    });
  }
}

export class NoAnswer extends Error {
  constructor(late) {
    super(late ? "no answer in time" : "no answer");
    this.name = "NoAnswer";
    this.late = late;
  }
}

// A header carries bytes: the key is sent as UTF-8.
export const bytesOf = (text) => String.fromCharCode(...new TextEncoder().encode(text));

// call requests a path relative to the page, which may be below a path of a reverse proxy.
// options: headers, signal, patience (the timeout in milliseconds), as ("json" by content
// type, "text", "blob" or "response").
export async function call(method, path, body, options = {}) {
  const headers = { ...options.headers };
  const files = body instanceof FormData || body instanceof Blob;
  if (body !== undefined && !files) headers["Content-Type"] = "application/json";
  if (csrf.value) headers["x-postern-csrf"] = csrf.value;
  const limit = AbortSignal.timeout(options.patience || patience);
  const signal = options.signal ? AbortSignal.any([options.signal, limit]) : limit;
  let response;
  /** @type {any} */
  let answer;
  try {
    response = await fetch("." + path, {
      method,
      headers,
      signal,
      body: body === undefined || files ? body : JSON.stringify(body),
    });
    if (response.ok && options.as === "response") return response;
    answer = response.ok && options.as === "blob" ? await response.blob() : await response.text();
  } catch (error) {
    if (options.signal?.aborted) throw error;
    throw new NoAnswer(limit.aborted);
  }
  const json = (response.headers.get("Content-Type") || "").includes("json");
  if (response.ok) return json && !options.as && answer ? JSON.parse(answer) : answer;
  /** @type {any} */
  let details = {};
  try {
    details = JSON.parse(answer) || {};
  } catch {
    // not an answer of Postern, such as a proxy's
  }
  /** @type {any} */
  const refusal = new Refusal(response.status, details, response.statusText);
  /** @type {any} */
  const wait = (response.status === 429 || details.code === "MEDIA_PENDING") && response.headers.get("Retry-After");
  if (wait) refusal.until = isNaN(wait) ? Date.parse(wait) : Date.now() + wait * 1000;
  if (response.status === 401 && !options.signingIn) refused.set(refusal);
  throw refusal;
}

export const get = (path, options) => call("GET", path, undefined, options);

// filled requests pages of a list until one has records or is the last: an empty page may
// be followed by others. It stops early once wanted() is false.
export async function filled(ask, nextCursor, wanted = () => true) {
  let page = await ask(nextCursor);
  while (!page.records.length && page.nextCursor && wanted()) page = await ask(page.nextCursor);
  return page;
}

// query returns a query string; it omits empty values.
export function query(values) {
  const made = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) {
    for (const one of Array.isArray(value) ? value : [value])
      if (one !== "" && one !== undefined && one !== null) made.append(name, one);
  }
  const text = made.toString();
  return text && "?" + text;
}

// socketAt returns the address of a WebSocket beside the page.
export function socketAt(path) {
  const at = new URL("." + path, document.baseURI);
  at.protocol = at.protocol.replace("http", "ws");
  at.hash = "";
  return at.href;
}

export const instancePath = (name) => "/instance/" + encodeURIComponent(name);
