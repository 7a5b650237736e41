/** The hidden words. The state has their positions in the text, so that they are the same for all models. */

import { change, state } from "./state.js";

/** Return the hidden spans of the text, [start, end] each. Links of older versions have [index of a word]. */
function hiddenSpans() {
  return state.hidden.split(",").filter((part) => /^\d+(-\d+)?$/.test(part)).map((part) => part.split("-").map(Number));
}

/** Whether a hidden span covers the i-th word, or a part of it. */
function covers([start, end], word, i) {
  return end === undefined ? start === i : start < word.end && word.start < end;
}

/** Return the indices of the hidden words. */
export function hiddenIndices(words) {
  const spans = hiddenSpans();
  return [...words.keys()].filter((i) => spans.some((span) => covers(span, words[i], i)));
}

/** Hide the i-th word, or show it again. */
export function toggleHidden(words, i) {
  const spans = hiddenSpans().filter((span) => !covers(span, words[i], i));
  if (!hiddenIndices(words).includes(i)) spans.push([words[i].start, words[i].end]);
  change({ hidden: spans.sort(([a], [b]) => a - b).map((span) => span.join("-")).join(",") });
}
