/** The tab `Examples`: test texts with their predictions. */

import { get } from "./api.js";
import { $, el, fillSelect, onEvent, setValue } from "./dom.js";
import { formatPercent, plural } from "./format.js";
import { ListView } from "./list-view.js";
import { change, currentModel, state, UNEDITED } from "./state.js";

const SAMPLE = "What a charming little film: the cast is superb, the music lovely, and only the ending is a bit dull.";

/** Return the state for an example, with the line ends that a text field has. */
function exampleState({ text, label }) {
  return { text: text.replace(/\r\n?/g, "\n"), truth: label };
}

/** Return the state for the first text: the first test example if it is ready soon, else a sample. */
export async function firstText() {
  const parameters = { model: state.model, show: "all", limit: 1 };
  const answer = currentModel().examples
    && (await get("api/examples", parameters, AbortSignal.timeout(2000)).catch(() => null));
  const example = answer?.examples?.[0];
  return example ? exampleState(example) : { text: SAMPLE };
}

/** Open an example in the tab of the text. */
export function openExample(example) {
  change({ ...UNEDITED, ...exampleState(example), tab: "text" }, true);
  scrollTo(0, 0);
  $("tab-text").focus();
}

function exampleRow({ text, label, predicted, probability, right }) {
  const open = () => openExample({ text, label });
  const verdict = el("span", { class: right ? "right" : "wrong" }, right ? " ✓ right" : ` ✗ in truth ${label}`);
  return el("li", {}, el("button", { type: "button", class: "example", click: open },
    el("span", { class: "quoted", dir: "auto" }, text.trim() ? text : "(an empty text)"),
    el("span", { class: "verdict soft" }, el("b", {}, predicted), ` ${formatPercent(probability)} `, verdict)));
}

const list = new ListView("examples", {
  pageSize: 20,
  query: () => ({
    model: state.model, show: state.show, label: state.label, predicted: state.predicted, query: state.find,
  }),
  row: exampleRow,
  summary: ({ total, accuracy, dataset, split }) => {
    const order = state.show === "uncertain" ? ", least certain first" : "";
    const matches = `${plural(total, "text")} of ${dataset} (${split})${order}.`;
    return `${matches} The model is right on ${formatPercent(accuracy)} of all.`;
  },
});

export const examplesView = {
  setUp() {
    for (const id of ["show", "label", "predicted"]) onEvent(id, "change", (value) => change({ [id]: value }));
    onEvent("find", "input", (find) => change({ find }));
  },

  show() {
    const { labels, examples, no_examples: reason } = currentModel();
    const classes = [["", "any class"], ...labels.map((label) => [label, label])];
    fillSelect($("label"), classes, state.label);
    fillSelect($("predicted"), classes, state.predicted);
    $("show").value = state.show;
    setValue($("find"), state.find);
    $("examples").querySelector(".fields").hidden = !examples;
    if (examples) list.refresh();
    else list.showStatus(reason ?? "No test texts are at hand for this model.");
  },

  forget() { list.forget(); },
};
