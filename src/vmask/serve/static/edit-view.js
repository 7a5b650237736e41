/** The card beside the words: what the switches do to the accuracy, to test texts and to the text of the page. */

import { post } from "./api.js";
import { copyText } from "./clipboard.js";
import { $, el, onEvent } from "./dom.js";
import { canUndo, currentEdit, describeEdit, editFor, isEdited, resetSwitches, undo } from "./edit.js";
import { openExample } from "./examples-view.js";
import { formatNumber, formatPercent, plural, predictionName } from "./format.js";
import { change, currentModel, state } from "./state.js";
import { DEBOUNCE, pause } from "./timing.js";

const MAX_NAMED = 12; // switched words that are named

let request = new AbortController();
let measured = ""; // what was asked for
let command = ""; // that makes the edited model; empty until it is known

/** Name some words. */
export function nameSome(words, total = words.length) {
  const some = words.slice(0, MAX_NAMED);
  return some.join(", ") + (total > some.length ? ` and ${formatNumber(total - some.length)} more` : "");
}

const points = (share) => `${share < 0 ? "−" : "+"}${Math.abs(100 * share).toFixed(1)}`;

/** Return a value, with what it was before if that differs. */
function fromTo(before, after) {
  return [before === after ? "" : el("span", { class: "soft" }, `${before} → `), el("b", {}, after)];
}

/** Ask what the edit does, again and again while the server is busy or predicts the test texts. */
async function measure(signal) {
  const query = { model: state.model, edit: currentEdit() };
  for (;;) {
    try {
      const answer = await post("api/edit", query, signal);
      showMeasured(answer);
      if (answer.preparing === null) return;
    } catch (error) {
      if (error.status !== 429) throw error;
      await pause(1000 * error.wait, signal);
    }
  }
}

function showMeasured({ also, also_total: total, command: made, preparing, cost }) {
  command = made;
  $("command-copy").setAttribute("aria-disabled", !command);
  const shared = "These words share a piece with a switched one and change too";
  $("edit-also").textContent = total ? `${shared}: ${nameSome(also, total)}.` : "";
  $("edit-preparing").hidden = preparing === null;
  $("edit-preparing").value = preparing ?? 0;
  $("cost").classList.toggle("stale", !cost && preparing !== null);
  if (cost) showCost(cost);
}

/** Draw the accuracy before and after, and the test texts that get another class. */
function showCost(cost) {
  const { n, affected, difference, low, high, flips, examples } = cost;
  const interval = low === null ? "" : ` (95% interval ${points(low)} to ${points(high)})`;
  const effect = flips ? `${points(difference)} points${interval}. ` : "";
  const reach = isEdited() ? `; ${formatNumber(affected)} of them have a switched word` : "";
  $("accuracy").replaceChildren(...fromTo(formatPercent(cost.accuracy_before), formatPercent(cost.accuracy_after)));
  $("accuracy-note").textContent = `${effect}Over ${plural(n, "text")} of ${cost.dataset} (${cost.split})${reach}.`;
  $("flips").hidden = !flips;
  $("no-flips").hidden = !isEdited() || flips > 0;
  $("flips-total").textContent = `${plural(flips, "text")} get${flips === 1 ? "s" : ""} another class`;
  $("flips-rows").replaceChildren(...examples.map(flipRow));
  $("flips-more").textContent = flips > examples.length ? `and ${formatNumber(flips - examples.length)} more` : "";
}

function flipRow({ text, label, before, after }) {
  const right = after === label;
  const verdict = el("span", { class: right ? "right" : "wrong" }, right ? "✓ right now" : `✗ in truth ${label}`);
  return el("li", {}, el("button", { type: "button", class: "example", click: () => openExample({ text, label }) },
    el("span", { class: "quoted", dir: "auto" }, text.trim() ? text : "(an empty text)"),
    el("span", { class: "verdict soft" }, `${before} → `, el("b", {}, after), " ", verdict)));
}

/** Predict the text of the page without the edit and with it. */
async function predictText(signal) {
  const query = { texts: [state.text], model: state.model };
  const queries = isEdited() ? [query, { ...query, ...editFor(state.model) }] : [query];
  const answers = await Promise.all(queries.map((one) => post("api/predict", one, signal)));
  const said = answers.map(({ labels, predictions: [prediction] }) => predictionName(prediction, labels).join(""));
  $("edit-prediction").replaceChildren(...fromTo(said[0], said.at(-1)));
}

/** Ask for what the switches do. A new request cancels the one before. */
async function refreshMeasured() {
  const query = JSON.stringify([state.model, state.text, currentEdit()]);
  if (query === measured) return;
  measured = query;
  command = "";
  $("command-copy").setAttribute("aria-disabled", true);
  $("command").hidden = true;
  showEditStatus("");
  request.abort();
  request = new AbortController();
  const { signal } = request;
  try {
    await pause(DEBOUNCE, signal);
    await Promise.all([measure(signal), predictText(signal)]);
  } catch (error) {
    if (signal.aborted) return;
    request.abort(); // the other one
    measured = "";
    $("edit-preparing").hidden = true;
    showEditStatus(error.message, "error");
  }
}

/** Say what became of a switch or a button; `kind` is "error" or empty. */
export function showEditStatus(message, kind = "soft") {
  $("edit-status").className = kind;
  $("edit-status").textContent = message;
}

async function copyCommand() {
  if (!command) return;
  showEditStatus((await copyText(command, $("command"))) ? "Command copied." : "Copy this:");
}

export const editView = {
  setUp() {
    onEvent("undo", "click", undo);
    onEvent("switches-reset", "click", resetSwitches);
    onEvent("command-copy", "click", copyCommand);
    onEvent("edited-open", "click", () => change({ tab: "words" }, true));
  },

  show() {
    const { examples, no_examples: reason } = currentModel();
    const { hide, show } = currentEdit();
    $("edit-hint").hidden = isEdited();
    $("edit-count").textContent = isEdited() ? `${describeEdit()}.` : "";
    $("edit-hidden").textContent = hide.length ? `Hidden: ${nameSome(hide)}` : "";
    $("edit-shown").textContent = show.length ? `Shown: ${nameSome(show)}` : "";
    $("cost").hidden = !examples;
    $("no-cost").textContent = examples ? "" : `There is no accuracy without test texts. ${reason ?? ""}`;
    $("undo").setAttribute("aria-disabled", !canUndo());
    $("switches-reset").setAttribute("aria-disabled", !isEdited());
    refreshMeasured();
  },

  /** Say in the other tabs whether the switches hold there. */
  showNote() {
    const other = state.beside ? " The other model has none." : "";
    const notes = {
      text: `The model sees the text with your switches: ${describeEdit()}.${other}`,
      examples: `These predictions are without your switches (${describeEdit()}).`,
      file: `Files are scored without your switches (${describeEdit()}).`,
    };
    $("edited").hidden = !isEdited() || !(state.tab in notes);
    $("edited-note").textContent = notes[state.tab] ?? "";
  },

  forget() { measured = ""; },
};
