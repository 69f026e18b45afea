(async () => {
  const put = typeof copy === "function" ? copy : (text) => navigator.clipboard.writeText(text);
  const say = (text) => console.log("%c" + text, "font-size: 1.3em; font-weight: bold");
  const bytes = (text) => Uint8Array.from(atob(text.replace(/-/g, "+").replace(/_/g, "/")), (c) => c.charCodeAt(0));
  const word = (buffer) => btoa(String.fromCharCode(...new Uint8Array(buffer))).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
  const asked = JSON.parse('OPTIONS');
  const publicKey = {...asked, challenge: bytes(asked.challenge), allowCredentials: asked.allowCredentials.map((c) => ({...c, id: bytes(c.id)}))};
  const sign = () => navigator.credentials.get({publicKey});
  const unseen = async (error) => {
    if (error.name !== "NotAllowedError" || document.hasFocus()) throw error;
    say("Now click once anywhere on the WhatsApp page.");
    await new Promise((done) => addEventListener("focus", done, {once: true}));
    return sign();
  };
  try {
    if (!navigator.credentials) throw new Error("this browser knows no passkeys");
    const signed = await sign().catch(unseen);
    const answer = JSON.stringify({
      id: signed.id, rawId: word(signed.rawId), type: signed.type, clientExtensionResults: {},
      response: {
        clientDataJSON: word(signed.response.clientDataJSON), authenticatorData: word(signed.response.authenticatorData),
        signature: word(signed.response.signature), userHandle: signed.response.userHandle ? word(signed.response.userHandle) : null,
      },
    });
    try {
      await put(answer);
      say("Done. The answer is copied: go back to the page that you came from and paste it there.");
    } catch {
      say("Done. Copy the text below, from { to }, go back to the page that you came from and paste it there.");
    }
    console.log(answer);
    return answer;
  } catch (error) {
    say({
      NotAllowedError: "The passkey was not used: it was cancelled, it took too long, or this computer does not reach it. Paste the line again for another try.",
      SecurityError: "This line works on web.whatsapp.com only. Open that page, and paste it there.",
    }[error.name] || "The passkey was not used: " + error.message);
  }
})();
