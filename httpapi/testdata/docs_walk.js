"use strict";

// Walks through the page of the interface as a reader would, and writes what broke a rule into data-walked.
(async () => {
  const found = [];
  let steps = 0;
  const rule = (ok, text) => { steps++; if (!ok) found.push(text); };
  const shown = (element) => element.checkVisibility();
  const until = async (ok, text) => {
    for (let i = 0; i < 200 && !ok(); i++) await new Promise((done) => setTimeout(done, 50));
    rule(ok(), text);
  };
  try {
    // The whole of it.
    const routes = all("article[data-method]");
    rule(routes.length > 90, `${routes.length} routes`);
    for (const link of all('a[href^="#"]')) {
      rule(document.getElementById(decodeURIComponent(link.hash.slice(1))), `${link.hash} leads nowhere`);
    }
    rule(document.documentElement.scrollWidth <= innerWidth + 1, `the page is ${document.documentElement.scrollWidth} wide in a window of ${innerWidth}`);
    const dark = matchMedia("(prefers-color-scheme: dark)").matches;
    const light = (color) => color.match(/\d+/g).slice(0, 3).reduce((sum, part) => sum + Number(part), 0) / 3;
    const body = getComputedStyle(document.body);
    rule(dark ? light(body.backgroundColor) < 60 && light(body.color) > 180 : light(body.backgroundColor) > 200 && light(body.color) < 80,
      `text ${body.color} on ${body.backgroundColor} in a ${dark ? "dark" : "light"} screen`);

    // The keyboard reaches everything, and everything has a name.
    for (const field of all("input, textarea")) rule(field.labels.length === 1 && field.labels[0].textContent.trim(), `a field without a label: ${field.outerHTML}`);
    for (const control of all("a, button, input, textarea, summary")) rule(control.tabIndex >= 0, `the keyboard does not reach ${control.outerHTML}`);
    for (const button of all("button")) rule(button.textContent.trim(), `a button without words: ${button.outerHTML}`);
    rule(one(".skip").hash === "#main", "nothing skips the menu");

    // Search.
    document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "/", bubbles: true }));
    rule(document.activeElement === search, "/ does not lead to the search");
    search.value = "viewOnce ptt-file";
    search.dispatchEvent(new Event("input"));
    const left = routes.filter(shown).map((route) => route.id);
    rule(left.includes("sendVoiceNoteFile") && left.length < 6, `the search leaves ${left}`);
    rule(one("#found").textContent.endsWith("found"), "the search does not show how many");
    search.dispatchEvent(new KeyboardEvent("keydown", { key: "Escape", bubbles: true }));
    rule(routes.every((route) => !route.hidden) && search.value === "", "Escape does not end the search");

    // Languages.
    for (const language of ["go", "python", "javascript", "curl"]) {
      one(`#sendText .languages [data-language=${language}]`).click();
      const samples = all("#sendText .sample").filter(shown);
      rule(samples.length === 1 && samples[0].dataset.language === language, `${language}: ${samples.length} examples are shown`);
      rule(samples[0]?.textContent.includes(location.origin + "/instance/sales/send/text"), `the example in ${language} is for another address`);
    }

    // Trying: refused without a key, then with it; the token that comes back opens the next route.
    const attempt = async (id, values, status) => {
      const route = document.getElementById(id);
      one(".try", route).open = true;
      for (const [name, value] of Object.entries(values)) one(`[name="${name}"]`, route).value = value;
      one(".result", route).replaceChildren();
      one(".try form", route).requestSubmit();
      await until(() => one(".result p", route)?.textContent.startsWith(status), `${id} does not answer ${status}: ${one(".result", route).textContent}`);
      return one(".result", route).textContent;
    };
    const name = { body: JSON.stringify({ instanceName: "walked" }) };
    rule((await attempt("createInstance", name, "401")).includes("UNAUTHORIZED"), "a refusal is not shown");
    one("#GlobalApiKey").value = apiKey;
    await attempt("createInstance", name, "201");
    rule(one("#InstanceBearer").value.split(".").length === 3, "the token of the new instance was not taken over");
    await attempt("getInstance", { instanceName: "walked" }, "200");
    await attempt("createUserToken", {}, "201");
    rule((await attempt("listBatches", { limit: "5" }, "200")).includes("totalRecords"), "the list is not shown");
    rule((await attempt("listBatches", { limit: "1000" }, "400")).includes("INVALID_QUERY"), "the query is not sent");
    await attempt("getHealth", {}, "200");
    rule(document.activeElement?.closest("#getHealth"), "the focus is lost by trying");
    rule(!document.cookie && !localStorage.length && !sessionStorage.length, "the page keeps a secret");
  } catch (error) {
    found.push(String(error.stack));
  }
  document.documentElement.dataset.walked = JSON.stringify({ steps, found });
})();
