"use strict";

// A walk of its own: it waits for ten minutes of the browser's clock.
window.hands = ({ all, at, later, press, signIn, want }) => ({
  async "events stay while the tab lives"() {
    await signIn("right");
    await at("instances/one/events");
    await later(500);
    const ear = () => stage.sockets.findLast((one) => one.url.includes("event=*&instance=one"));
    const events = () => all(".events-list .row").map((one) => one.textContent).join("|");
    want(events().includes("Is my order ready?"), "events are shown");
    const first = ear();
    await at("overview");
    await later(20000);
    first.hear({ event: "messages.upsert", data: { content: { text: "while away" } } });
    await at("instances/one/events");
    await later(500);
    want(ear() === first && events().includes("Is my order ready?") && events().includes("while away"), "they stay, and hearing goes on: " + events());
    await at("overview");
    await later(601000);
    want(first.readyState === 3, "it ends ten minutes after leaving");
    await at("instances/one/events");
    await later(500);
    want(events().includes("while away") && events().includes("Not heard until here"), "a mark says where: " + events());
    await press("Sign out (operator)");
    await later(300);
    want(ear().readyState === 3, "sign-out ends it");
    await signIn("right");
    await at("instances/one/events");
    await later(500);
    want(!events().includes("while away"), "and another user sees none of it");
  },
});
