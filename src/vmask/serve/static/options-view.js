/** The options behind `More`: how words are hidden, and the options and seed of the explainer. */

import { $, el, fillSelect, setValue } from "./dom.js";
import { spaced } from "./format.js";
import { change, currentModel, DEFAULTS, explainerFor, findByName, hideFor, options, state } from "./state.js";

const FIELDS = { bool: { type: "checkbox" }, int: { type: "number" }, float: { type: "number", step: "any" } };
const SEED = { name: "seed", kind: "int", default: 0, help: "of its random draws" };

/** Return a row for an option that the server describes; `key` is its key in the state. Empty fields mean defaults. */
function optionRow({ name, kind, choices, most, help, default: defaultValue }, key) {
  const attributes = { id: key, "aria-describedby": `${key}-help`, max: most ?? false, ...FIELDS[kind] };
  const control = el(choices ? "select" : "input", attributes);
  control.addEventListener("change", () => {
    const value = kind === "bool" ? String(control.checked) : control.value;
    change({ [key]: ["", String(defaultValue)].includes(value) ? DEFAULTS[key] : value });
  });
  if (choices) fillSelect(control, choices.map((choice) => [String(choice), spaced(choice)]));
  const node = el("div", { class: "option" }, el("label", { for: key }, spaced(name)), control,
    el("small", { id: `${key}-help`, class: "soft" }, help));
  const update = () => {
    const value = state[key] || String(defaultValue ?? "");
    if (kind === "bool") control.checked = value === "true";
    else setValue(control, value);
  };
  return { node, update };
}

export function openOptions(open) {
  $("options").hidden = !open;
  $("more").setAttribute("aria-expanded", open);
}

/** Open the options if the address changes one of them. */
export function openChangedOptions() {
  const explainer = explainerFor(currentModel());
  const changed = explainer.options.some(({ name }) => state[`option.${name}`] !== undefined);
  const seeded = explainer.draws && state.seed !== DEFAULTS.seed;
  if (changed || seeded || hideFor(currentModel()) !== currentModel().hides[0]) openOptions(true);
}

let rows = [];
let rowsFor = ""; // model and explainer that the rows are for

export function showOptions() {
  const { hides } = currentModel();
  const explainer = explainerFor(currentModel());
  if (rowsFor !== `${state.model} ${explainer.name}`) {
    rowsFor = `${state.model} ${explainer.name}`;
    const hiding = { name: "hiding", kind: "choice", choices: hides, default: hides[0], help: "" };
    rows = [
      optionRow(hiding, "hide"),
      ...explainer.options.map((option) => optionRow(option, `option.${option.name}`)),
      ...(explainer.draws ? [optionRow(SEED, "seed")] : []),
    ];
    $("options").replaceChildren(...rows.map(({ node }) => node));
  }
  for (const { update } of rows) update();
  $("hide-help").textContent = `A hidden word: ${findByName(options.hides, hideFor(currentModel())).description}.`;
}
