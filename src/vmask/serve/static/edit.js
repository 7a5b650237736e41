/**
 * The switches of words: which are hidden from the model or shown to it, as an experiment.
 *
 * The state has the words that differ from what the model does by itself; requests carry them along as `edit`.
 */

import { formatNumber, plural } from "./format.js";
import { change, NO_SWITCHES, options, state } from "./state.js";
import { wordKey } from "./word-key.js";

const BREAK = "\n"; // between words in the state; no word has one in it

const wordsOf = (text) => text.split(BREAK).filter(Boolean);

export const isEdited = () => Boolean(state.off || state.on);
export const currentEdit = () => ({ hide: wordsOf(state.off), show: wordsOf(state.on) });

/** Return the edit as a field of a request. A model that is compared with that of the page has none. */
export const editFor = (model) => (isEdited() && model === state.model ? { edit: currentEdit() } : {});

/** Return the number of switched words in a few words. */
export function describeEdit() {
  const { hide, show } = currentEdit();
  if (!hide.length) return `${plural(show.length, "word")} shown`;
  return `${plural(hide.length, "word")} hidden${show.length ? `, ${formatNumber(show.length)} shown` : ""}`;
}

/** Return a function that says whether a word of the list is visible to the model with the switches as they are. */
export function visibility() {
  const [off, on] = Object.values(currentEdit()).map((words) => new Set(words.map(wordKey)));
  return ({ word, hidden }) => !off.has(wordKey(word)) && (on.has(wordKey(word)) || !hidden);
}

/** Switch words of the list, each with `hidden`: what the model does by itself. Throws an error for too many words. */
export function switchWords(words, visible) {
  const switched = new Set(words.map(({ word }) => wordKey(word)));
  const edit = currentEdit();
  const others = (list) => list.filter((word) => !switched.has(wordKey(word)));
  const decided = words.filter(({ hidden }) => hidden === visible).map(({ word }) => word);
  const hide = [...others(edit.hide), ...(visible ? [] : decided)];
  const show = [...others(edit.show), ...(visible ? decided : [])];
  const limit = options.limits.edit_words;
  if (hide.length + show.length > limit) {
    throw new Error(`At most ${plural(limit, "word")} can be switched. Narrow the search, or switch some back.`);
  }
  step({ off: hide.join(BREAK), on: show.join(BREAK) });
}

export const resetSwitches = () => step(NO_SWITCHES);

let past = []; // the switches before each step
let latest = ""; // the model and its switches after the last step

const signature = ({ off, on }) => JSON.stringify([state.model, off, on]);

/** Forget the steps if the switches were changed by something else, such as another model or the back button. */
function forgetOthers() {
  if (signature(state) !== latest) past = [];
  latest = signature(state);
}

function step(switches) {
  forgetOthers();
  if (signature(switches) === latest) return;
  past.push({ off: state.off, on: state.on });
  latest = signature(switches);
  change(switches);
}

export function canUndo() {
  forgetOthers();
  return past.length > 0;
}

/** Take the last step back. */
export function undo() {
  if (!canUndo()) return;
  const switches = past.pop();
  latest = signature(switches);
  change(switches);
}
