// Who gets a new batch, and whose it is.
import { useEffect, useRef, useState } from "preact/hooks";
import { get } from "../data/api.js";
import { listOf, maxFile, once } from "../data/talk.js";
import { html } from "../html.js";
import { Icon } from "../ui/icon.js";
import { Button, Field, Select, Text } from "../ui/parts.js";
import { many, number, t } from "../words.js";

// steps are the steps of the wizard, by their name in the address, with their titles.
export const steps = { who: "new.who", what: "new.message", how: "new.how", check: "new.check" };

// codeOf returns the digits of a country code, "" for none.
export const codeOf = (text) => /^\s*\+?([1-9]\d{0,2})\s*$/.exec(text)?.[1] || "";

// User selects the owner of the batch: of the users with batches, or a new one.
export function User({ value, on, wrong }) {
  const [known, setKnown] = useState([]);
  const fresh = () => on(once().replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12})$/, "$1-$2-4$3-8$4-$5"));
  useEffect(() => {
    get(listOf({ limit: 100 })).then(
      (page) => {
        const all = [...new Set(page.records.map((one) => one.ownerUserId))];
        setKnown(all);
        if (!value) all.length ? on(all[0]) : fresh();
      },
      () => {},
    ); // then the user types it
  }, []);
  return html`<details class="further" open=${!!wrong}>
    <summary>${t("new.advanced")}</summary>
    <div class="with-button end">
      <${Text}
        label=${t("batches.user")}
        help=${t("new.userAbout")}
        wrong=${wrong}
        value=${value}
        on=${(text) => on(text.trim())}
        kind="code"
        list="known-users"
      /><datalist id="known-users">${known.map((one) => html`<option key=${one} value=${one} />`)}</datalist
      ><${Button}
        word=${t("new.freshUser")}
        act=${() => {
          fresh();
        }}
      />
    </div>
  </details>`;
}

// Title heads a step.
export const Title = ({ of, children }) =>
  html`<header>
    <h2 tabindex="-1">${t(steps[of])}</h2>
    ${children && html`<p>${children}</p>`}
  </header>`;

// Recipients edits the numbers: pasted, dropped or from a file, with a choice of the column.
export function Recipients({ text, type, file, table, sheet, column, list, form, put }) {
  const [trouble, setTrouble] = useState("");
  const picker = useRef(null);
  const take = async (chosen) => {
    setTrouble("");
    if (!chosen) return;
    if (chosen.size > maxFile) return setTrouble(t("new.wrongFile"));
    type(await chosen.text(), chosen.name);
  };
  const drop = (event) => {
    if (!event.dataTransfer.files.length) return;
    event.preventDefault();
    take(event.dataTransfer.files[0]);
  };
  const { wide } = sheet;
  return html`<section class="card" onDragOver=${(event) => event.preventDefault()} onDrop=${drop}>
    <${Title} of="who">${t("new.whoAbout")}<//>
    <div class="form">
      ${file
        ? html`<div class="with-button file-chosen">
            <span class="one-line"
              ><bdi>${file}</bdi> <span class="quiet">${many("new.lines", table.length)}</span></span
            ><${Button}
              kind="small"
              icon="close"
              word=${t("new.noFile")}
              act=${() => {
                type("");
              }}
            />
          </div>`
        : html`<${Field} label=${t("new.numbers")} help=${t("new.numbersHelp")} wrong=${trouble}
              >${(ties) =>
                html`<textarea
                  class="input code"
                  rows="6"
                  spellcheck=${false}
                  placeholder=${"+49 151 1234567\n+351 912 345 678"}
                  value=${text}
                  onInput=${(event) => type(event.target.value)}
                  ...${ties}
                ></textarea>`}<//
            >
            <div class="buttons">
              <input
                type="file"
                hidden
                accept=".csv,.txt,.tsv,text/csv,text/plain"
                ref=${picker}
                onChange=${(event) => {
                  take(event.target.files[0]);
                  event.target.value = "";
                }}
              /><${Button}
                kind="small"
                icon="docs"
                word=${t("new.file")}
                act=${() => {
                  picker.current.click();
                }}
              />
            </div>`}
      ${sheet.tabled &&
      html`<${Select}
          label=${t("new.column")}
          value=${String(column)}
          on=${(value) => put({ column: Number(value) })}
          options=${sheet.names.slice(0, 50).map((name, i) => [String(i), number(i + 1) + ": " + name.slice(0, 40)])}
        />
        <div class="scrolled as-table" tabindex="0" role="region" aria-label=${t("new.preview")}>
          <table>
            <tbody>
              ${table.slice(0, 6).map(
                (row, y) =>
                  html`<tr key=${y}>
                    ${Array.from(
                      { length: Math.min(wide, 12) },
                      (_, x) =>
                        html`<td key=${x} class=${x === column ? "on" : ""}>
                          <bdi>${(row[x] || "").slice(0, 80)}</bdi>
                        </td>`,
                    )}
                  </tr>`,
              )}
            </tbody>
          </table>
        </div>`}
      ${(list.national.length > 0 || form.country) &&
      html`<${Text}
        label=${t("new.country")}
        wrong=${form.country && !codeOf(form.country) && t("new.wrongCountry")}
        inputmode="tel"
        placeholder="+49"
        value=${form.country}
        on=${(country) => put({ country })}
      />`}
      ${text.trim() && html`<div class="sums" role="status"><${Sums} list=${list} /></div>`}
    </div>
  </section>`;
}

// Sums counts the numbers of a list and shows what is left out.
export const Sums = ({ list }) =>
  html`<p class=${"state " + (list.numbers.length ? "good" : "off")}>
      <${Icon} name=${list.numbers.length ? "good" : "off"} /><span>${many("new.good", list.numbers.length)}</span>
    </p>
    ${[
      ["again", "off", many("new.again", list.again.length)],
      ["national", "bad", many("new.national", list.national.length)],
      ["wrong", "bad", many("new.wrong", list.wrong.length)],
    ].map(
      ([key, tone, word]) =>
        list[key].length > 0 && html`<${Left} tone=${tone} key=${key} word=${word} list=${list[key]} />`,
    )}`;

// Left shows the ignored lines and their numbers.
export const Left = ({ tone, word, list }) =>
  html`<details class=${tone}>
    <summary>
      <span class=${"state " + tone}><${Icon} name=${tone} /><span>${word}</span></span>
    </summary>
    <ul class="left-out">
      ${list
        .slice(0, 100)
        .map(
          (one) =>
            html`<li key=${one.line + one.text}>
              <span class="quiet figures">${number(one.line)}</span>${" "}<bdi class="mono one-line"
                >${one.text.slice(0, 120) || "–"}</bdi
              >
            </li>`,
        )}${list.length > 100 && html`<li class="quiet">…</li>`}
    </ul>
  </details>`;
