// The pairing from Connect to a linked phone, without a user interface: it makes the calls and
// reports each step. The caller supplies the calls, so that the portal page can use it too.
//
// onStep gets one of these: {step: "starting"}, {step: "qr", image, count, until},
// {step: "number"}, {step: "typed", code}, {step: "sign", line}, {step: "compare",
// code}, {step: "waiting", why}, {step: "failed", why, values}, {step: "done"}. trouble,
// the key of a text, may accompany any of them.

const pause = 2000; // milliseconds between two polls without a live connection
const rest = 10000; // the same with one
const silence = 20000; // milliseconds after which an answer had no effect

// troubles maps refusals of the server that the reader can resolve to texts.
const troubles = {
  PASSKEY_NOT_EXPECTED: "pair.trouble.late",
  PASSKEY_REFUSED: "pair.trouble.refused",
  INVALID_ASSERTION: "pair.trouble.part",
  UNKNOWN_FIELD: "pair.trouble.other",
  MISSING_FIELD: "pair.trouble.part",
  BODY_TOO_LARGE: "pair.trouble.large",
  CONNECT_TIMEOUT: "pair.trouble.slow",
};

// Flow is one pairing.
export class Flow {
  constructor(calls, onStep) {
    this.calls = calls;
    this.onStep = onStep;
    Object.assign(this, {
      over: false,
      now: null,
      passkey: null,
      sent: 0,
      stopWatching: () => {},
      waits: false,
      woken: false,
    });
    this.remember = this.wake = () => {
      this.woken = true;
    };
  }

  // show reports a step, unless it is already shown.
  show(next) {
    if (this.over) return;
    const kept = next.step === this.now?.step ? { trouble: this.now.trouble } : {};
    this.now = { ...kept, ...next };
    this.onStep(this.now);
  }

  trouble(key) {
    if (!this.over && this.now) this.onStep((this.now = { ...this.now, trouble: key }));
  }

  // end stops all calls when the dialog closes.
  end() {
    this.over = true;
    this.stopWatching();
    this.wake();
  }

  async begin() {
    this.show({ step: "starting" });
    try {
      this.waits = false;
      this.stopWatching();
      this.stopWatching =
        (await this.calls.watch?.(
          (message) => this.hear(message),
          (open) => {
            this.waits = open;
          },
        )) || (() => {});
      if (this.over) return this.stopWatching();
      await this.lead(await this.calls.connect());
    } catch (error) {
      this.show({ step: "failed", error });
    }
    this.stopWatching();
  }

  // hear handles a live message: it shows a new code at once and polls after any other
  // change.
  hear({ event, data }) {
    if (event === "qrcode.updated" && ["starting", "qr", "waiting"].includes(this.now?.step)) this.code(data);
    else this.wake();
  }

  code({ base64, count, expiresAt }) {
    const until = expiresAt ? Date.parse(expiresAt) : count === this.now?.count ? this.now.until : 0;
    this.show({ step: "qr", image: base64, count, until });
  }

  // rest waits for a change or the next poll. A change since the last request was sent counts.
  rest() {
    return new Promise((done) => {
      const end = () => {
        clearTimeout(timer);
        this.wake = this.remember;
        done();
      };
      const timer = setTimeout(end, this.woken ? 0 : this.waits ? rest : pause);
      this.woken = false;
      this.wake = end;
    });
  }

  async lead(code) {
    let first = true;
    while (!this.over && !code.alreadyConnected) {
      if (code.base64) this.code(code);
      if (!first || code.base64) await this.rest();
      first = false;
      if (this.over) return;
      // Connecting after the last code would restart the pairing without end.
      const status = await this.calls.status();
      if (this.over) return;
      if (status.state === "open") break;
      if (status.state === "close")
        return this.show({ step: "failed", why: this.passkey ? "pair.ended.passkey" : "pair.ended", status });
      code = {};
      this.passkey = status.passkey || this.passkey;
      if (status.passkey) await this.drawPasskey(status.passkey);
      else if (status.connectionStatus === "PAIRING") this.show({ step: "waiting", why: "pair.taken" });
      else if (this.now?.step !== "number" && this.now?.step !== "typed") {
        code = await this.calls.connect();
        if (!code.base64 && !code.alreadyConnected) this.show({ step: "waiting", why: "pair.waits" });
      }
    }
    this.show({ step: "done" });
  }

  async drawPasskey({ step, code }) {
    if (step === "compare") return this.show({ step: "compare", code });
    if (step === "done") return this.show({ step: "waiting", why: "pair.completes" });
    if (!this.sent) return this.ask();
    if (Date.now() - this.sent < silence) return this.show({ step: "waiting", why: "pair.checks" });
    this.sent = 0;
    await this.ask();
    this.trouble("pair.trouble.nothing");
  }

  // ask shows the steps to the signature. It fetches a new line each time: WhatsApp no longer
  // accepts an answer to an old one.
  async ask() {
    const line = await this.calls.script().catch((error) => {
      if (error.code === "PASSKEY_NOT_EXPECTED") return ""; // the pairing advanced; the next poll shows the step
      throw error;
    });
    if (line) this.show({ step: "sign", line });
  }

  // act performs an action and shows its error in the current step.
  async act(action) {
    this.trouble("");
    try {
      await action();
    } catch (error) {
      this.trouble(troubles[error.code] || error);
    }
  }

  // answer sends the pasted text from its first brace to its last, since consoles add quotes.
  // It reports whether the text was accepted.
  async answer(text) {
    if (text.includes("navigator.credentials")) return this.trouble("pair.trouble.line");
    let answer;
    try {
      answer = JSON.parse(text.slice(text.indexOf("{"), text.lastIndexOf("}") + 1));
    } catch {
      return this.trouble("pair.trouble.part");
    }
    await this.act(async () => {
      await this.calls.assertion(answer);
      this.sent = Date.now();
      this.show({ step: "waiting", why: "pair.checks" });
    });
    return !this.now.trouble;
  }

  confirm() {
    return this.act(async () => {
      await this.calls.confirm();
      this.show({ step: "waiting", why: "pair.completes" });
    });
  }

  giveUp() {
    return this.act(async () => {
      await this.calls.logout();
      this.show({ step: "failed", why: "pair.other" });
      this.end();
    });
  }

  number() {
    this.show({ step: "number" });
  }

  type(phone) {
    return this.act(async () => this.show({ step: "typed", code: (await this.calls.code(phone)).code }));
  }

  // scan goes back from a typed code to scanning.
  async scan(again) {
    const typed = this.now.step === "typed";
    await this.act(async () => {
      if (typed) await this.calls.logout();
      this.end();
      again();
    });
  }
}
