/** The tab `File`: a table with predictions. The server reads and writes tables; this page only shows its summary. */

import { request } from "./api.js";
import { $, barRow, el, onEvent } from "./dom.js";
import { formatMegabytes, formatNumber, formatPercent, plural } from "./format.js";
import { change, currentModel, options, state } from "./state.js";

let lastFile; // for `Score again`

function showStatus(kind, ...nodes) {
  $("file-status").className = kind;
  $("file-status").replaceChildren(...nodes);
}

/** Let the server score a table, and show the result. */
async function scoreFile(file) {
  lastFile = file;
  const { name: model, title } = currentModel();
  const parameters = { model, filename: file.name, format: "json" };
  if ($("column").value) parameters.column = $("column").value;
  $("again").hidden = false;
  $("scored").hidden = true;
  showStatus("soft", el("progress", { "aria-label": "Scoring" }), ` Scoring ${file.name} …`);
  try {
    const limit = options.limits.body_bytes;
    if (file.size > limit) throw new Error(`${file.name} is larger than ${formatMegabytes(limit)}. Cut it into parts.`);
    const headers = { "Content-Type": "application/octet-stream" };
    const path = `api/table?${new URLSearchParams(parameters)}`;
    showScored(await request(path, { method: "POST", headers, body: file }), title, file.name);
    showStatus("soft", `${file.name} is scored.`);
  } catch (error) {
    showStatus("error", error.message);
  }
}

let downloadAddress; // of the CSV that is shown; the browser keeps it in memory until it is revoked

/** Show the summary of a scored table: the number of rows of each class, the first rows, and a link to the CSV. */
function showScored({ labels, column, total, empty, notes, added, counts, first, csv }, title, filename) {
  if (downloadAddress) URL.revokeObjectURL(downloadAddress);
  downloadAddress = URL.createObjectURL(new Blob([csv], { type: "text/csv" }));
  const download = `${filename.replace(/\.\w+$/, "")}-predicted.csv`;
  const remark = empty ? `, ${formatNumber(empty)} of them empty` : "";
  const rows = first.map(({ text, label, probability }) => el("tr", {},
    el("td", { class: "quoted", dir: "auto" }, text), el("td", {}, el("b", {}, label)),
    el("td", { class: "num" }, formatPercent(probability))));
  $("scored").replaceChildren(
    el("div", { class: "line" }, el("h2", {}, `${plural(total, "text")} scored by ${title}${remark}`),
      el("a", { class: "primary", href: downloadAddress, download }, "Download CSV")),
    el("p", { class: "soft" }, `Texts are from the column ${column}. Added columns: ${added.join(", ")}.`),
    ...notes.map((note) => el("p", { class: "soft" }, note)),
    el("ul", { class: "bars" }, ...labels.map((label, i) => barRow(label, counts[i] / total, formatNumber(counts[i])))),
    el("h3", {}, "First rows"),
    el("table", {}, el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "Text"),
      el("th", { scope: "col" }, "Predicted"), el("th", { scope: "col", class: "num" }, "Probability"))),
      el("tbody", {}, ...rows)));
  $("scored").hidden = false;
}

/** Score a file that is dropped anywhere on the page. */
function handleDrag(event) {
  if (!event.dataTransfer.types.includes("Files")) return;
  event.preventDefault();
  document.body.classList.toggle("dragging", event.type === "dragover");
  if (event.type !== "drop" || !event.dataTransfer.files.length) return;
  if (state.tab !== "file") change({ tab: "file" }, true);
  scoreFile(event.dataTransfer.files[0]);
}

export const tableView = {
  setUp() {
    onEvent("upload", "click", () => { $("upload").value = ""; }); // so that the same file can be chosen again
    onEvent("upload", "change", () => $("upload").files.length && scoreFile($("upload").files[0]));
    onEvent("again", "click", () => scoreFile(lastFile));
    for (const type of ["dragover", "dragleave", "drop"]) addEventListener(type, handleDrag);
  },

  show() {
    const { body_bytes: bytes, table_rows: rows } = options.limits;
    const size = `${formatNumber(rows)} rows and ${formatMegabytes(bytes)}`;
    $("upload-limits").textContent = `CSV, TSV, JSONL or Excel; up to ${size}`;
  },

  forget() {},
};
