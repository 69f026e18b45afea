"use strict";

// Steps of the walk about what a user's hands do: focus, drafts, Back, waiting.
window.hands = ({ $, all, at, button, dialog, later, menu, press, signIn, type, want }) => ({
  async "eight pairings each close at once"() {
    await signIn("right");
    await at("instances");
    for (let i = 0; i < 8; i++) {
      let linked = false;
      stage.answers["GET /instance/one/connect"] = () => stage.json(200, { base64: stage.picture(), count: 1, expiresAt: new Date(Date.now() + 20000).toISOString() });
      stage.answers["GET /instance/one/connection/status"] = async () => {
        const answer = stage.json(200, linked ? { state: "open", connectionStatus: "ONLINE" } : { state: "connecting", connectionStatus: "QR_CODE" });
        await later(400);
        return answer;
      };
      await press("Connect one");
      await later(200);
      const socket = stage.sockets.findLast((one) => one.url.includes("qrcode") && one.readyState === 1);
      socket.hear({ event: "connection.update", data: {} });
      await later(200); // the request is on its way
      linked = true;
      socket.hear({ event: "connection.update", data: {} });
      await later(1500);
      want(!dialog(), "pairing " + i + " closes within 1.5 s");
      want(document.activeElement === $("main h1"), "the focus goes to the heading, not to " + document.activeElement.tagName);
      dialog()?.querySelector("header button").click();
      await later(100);
    }
  },
  async "focus returns after ten dialogs"() {
    await signIn("right");
    want(document.activeElement === $("main h1"), "after sign-in the heading has it");
    await at("instances");
    for (let i = 0; i < 10; i++) {
      const opener = button("New instance");
      opener.focus();
      opener.click();
      await later(100);
      want(dialog()?.contains(document.activeElement), "the dialog has it");
      if (i % 2) dialog().querySelector("header button").click();
      else dialog().dispatchEvent(new Event("cancel", { cancelable: true }));
      await later(100);
      want(document.activeElement === opener, "it returns to its opener, not to " + document.activeElement.tagName);
    }
    await press("Actions for one");
    const opener = document.querySelector("[aria-expanded=true].button");
    all("[role=menuitem]").find((one) => one.textContent.trim() === "Delete").click();
    await later(100);
    await press("Cancel", dialog());
    want(document.activeElement.getAttribute("aria-label") === "Actions for one", "from a menu it returns to its button");
    stage.tell({ type: "instanceDeleted", name: "one" });
    await later(200);
    want(document.activeElement === $("main h1"), "it goes to the heading when its row is gone");
    await at("batches/new");
    await press("File");
    want(document.activeElement.matches(".new-batch select"), "a choice leads to the field that it opened");
  },
});
