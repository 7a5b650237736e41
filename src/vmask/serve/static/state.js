/**
 * The state of the page: a flat map of strings, which is also the address behind `#`.
 *
 * Controls change it with `change`; the listener then draws what differs.
 */

export const UNEDITED = { truth: "", hidden: "" };
export const NO_SWITCHES = { off: "", on: "" }; // words that are hidden and shown by hand, see edit.js
export const UNFILTERED = { show: "all", label: "", predicted: "", find: "" };
export const DEFAULTS = {
  tab: "text", model: "", beside: "", text: "", explainer: "", target: "", hide: "", seed: "0",
  word: "", min: "3", sort: "importance", ...UNEDITED, ...NO_SWITCHES, ...UNFILTERED,
};
const ADDRESS_DELAY = 250; // milliseconds: browsers refuse to change the address with every keystroke

export const state = { ...DEFAULTS };
export let options; // the answer of api/options: models, explainers, limits

export function setOptions(answer) {
  options = answer;
}

export const findByName = (items, name) => items.find((item) => item.name === name);
export const currentModel = () => findByName(options.models, state.model);
export const hideFor = ({ hides }) => (hides.includes(state.hide) ? state.hide : hides[0]);
export const targetFor = ({ labels }) => (labels.includes(state.target) ? state.target : "");
const isOption = (key) => key.startsWith("option.");

/** Return the explainer for a model: the chosen one, or the default if it does not apply to the model. */
export function explainerFor({ explainers }) {
  return findByName(options.explainers, explainers.includes(state.explainer) ? state.explainer : explainers[0]);
}

/** Return the title of a model, with its name if another model has the same title. */
export function uniqueTitle({ title, name }) {
  return options.models.filter((model) => model.title === title).length > 1 ? `${title} (${name})` : title;
}

/** Return the state in an address. Unknown models and tabs are replaced by the defaults. */
function stateFrom(hash) {
  const entries = [...new URLSearchParams(hash.slice(1))].filter(([key]) => key in DEFAULTS || isOption(key));
  const values = { ...DEFAULTS, ...Object.fromEntries(entries) };
  if (!findByName(options.models, values.model)) values.model = options.models[0].name;
  if (!findByName(options.models, values.beside) || values.beside === values.model) values.beside = "";
  if (!document.getElementById(`tab-${values.tab}`)) values.tab = DEFAULTS.tab;
  return values;
}

/** Set the state to that of the address. */
export function readAddress() {
  for (const key of Object.keys(state)) delete state[key];
  Object.assign(state, stateFrom(location.hash));
}

/** Return the address of the state: what differs from the defaults, and the text, which may be empty. */
function address() {
  const entries = Object.entries(state).filter(([key, value]) => value !== DEFAULTS[key] || key === "text");
  return `#${new URLSearchParams(entries)}`;
}

let addressTimer;

export function writeAddress() {
  clearTimeout(addressTimer);
  history.replaceState(null, "", address());
}

let listener = () => {};

/** Set the function that is called after every change of the state. */
export function onChange(callback) {
  listener = callback;
}

/** Change the state. With `push` the back button leads to the state before. */
export function change(changes, push = false) {
  if (push) writeAddress();
  Object.assign(state, changes);
  if (push) history.pushState(null, "", address());
  clearTimeout(addressTimer);
  addressTimer = setTimeout(writeAddress, ADDRESS_DELAY);
  listener();
}

/** Return the changes that reset the options of the explainer. */
export function resetOptions() {
  return Object.fromEntries(Object.keys(state).filter(isOption).map((key) => [key, undefined]));
}
