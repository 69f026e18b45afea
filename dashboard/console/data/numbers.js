// Lists of numbers, pasted or from a file, and tables to save.

export const most = 100000; // recipients of a batch, unless the server is set otherwise
export const maxFile = 20e6; // bytes of a file that is read

// digitsOf are the digits of a phone number, "" for what is none: the server's own rule.
export function digitsOf(text) {
  const digits = text.replace(/^(.*)@(s\.whatsapp\.net|c\.us)$/, "$1").replace(/[+()./\p{Pd}\s\p{Cf}]/gu, "");
  return /^\d{7,15}$/.test(digits) ? digits : "";
}

// tableOf reads a text into rows of cells: of a line each, parted by what parts most of the
// first lines (comma, semicolon, tab), with quotes as in CSV. A text without any is a column.
export function tableOf(text) {
  const head = text.slice(0, 4000);
  const parts = [";", "\t", ","].map((one) => [one, head.split(one).length]).sort((a, b) => b[1] - a[1]);
  const part = parts[0][1] > 1 ? parts[0][0] : ",";
  const rows = [];
  let row = [], cell = "", quoted = false;
  const end = () => {
    row.push(cell.trim());
    if (row.some(Boolean)) rows.push(row);
    row = [];
    cell = "";
  };
  for (let i = text.charCodeAt(0) === 0xfeff ? 1 : 0; i < text.length; i++) {
    const c = text[i];
    if (quoted) {
      if (c !== '"') cell += c;
      else if (text[i + 1] === '"') cell += text[++i];
      else quoted = false;
    } else if (c === '"' && cell.trim() === "") [quoted, cell] = [true, ""];
    else if (c === part) {
      row.push(cell.trim());
      cell = "";
    } else if (c === "\n" || c === "\r") end();
    else cell += c;
  }
  end();
  return rows;
}

// columnOf is the column that most looks like numbers.
export function columnOf(rows) {
  const some = rows.slice(0, 200), wide = Math.max(0, ...some.map((row) => row.length));
  let best = 0, most = -1;
  for (let at = 0; at < wide; at++) {
    const n = some.filter((row) => digitsOf(row[at] || "")).length;
    if (n > most) [best, most] = [at, n];
  }
  return best;
}

// sorted parts what a column has into numbers, what comes again, and what is none, each with the
// line where it stands. A first line without a number is the head. A line of numbers with
// commas between, which is no table, counts as many.
export function sorted(rows, column) {
  const numbers = [], again = [], wrong = [], seen = new Set();
  const flat = rows.every((row) => row.every((cell) => !cell || digitsOf(cell)));
  rows.forEach((row, line) => {
    for (const text of flat && column < 0 ? row : [row[Math.max(0, column)] || ""]) {
      const digits = digitsOf(text);
      if (!digits && line === 0 && rows.length > 1 && !/\d{4}/.test(text)) continue;
      if (!digits && !text && flat) continue;
      if (!digits) wrong.push({ text, line: line + 1 });
      else if (seen.has(digits)) again.push({ text, line: line + 1 });
      else {
        seen.add(digits);
        numbers.push(digits);
      }
    }
  });
  return { numbers, again, wrong };
}

// csv is a table as a file. A spreadsheet takes a cell that begins with = + - or @ for a
// formula: an apostrophe in front makes it a text.
export const csv = (rows) => "\ufeff" + rows.map((row) => row.map(cellOf).join(",")).join("\r\n") + "\r\n";

function cellOf(value) {
  const text = String(value ?? "");
  const plain = /^\s*[=+\-@\t\r]/.test(text) ? "'" + text : text;
  return /[",\r\n]/.test(plain) ? '"' + plain.replaceAll('"', '""') + '"' : plain;
}

// save lets the browser save what was made, without running any of it.
export function save(name, blob) {
  const url = URL.createObjectURL(new Blob([blob], { type: "application/octet-stream" }));
  const link = Object.assign(document.createElement("a"), { href: url, download: name.replace(/[\p{Cc}\p{Cf}/\\:*?"<>|]/gu, "_").slice(0, 120) || "file" });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 60000);
}
