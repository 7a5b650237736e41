/** The words with the largest scores, as bars. */

import { NEGLIGIBLE } from "./colours.js";
import { barRow, el } from "./dom.js";
import { formatScore } from "./format.js";

const MAX_SIGNED = 5; // words for the class, and as many against it
const MAX_UNSIGNED = 8;

/** Return the distinct words by score. A mask gives all occurrences of a word the same score: they get one bar. */
function rankedWords(words, hidden) {
  const scored = [...words.keys()].filter((i) => words[i].score !== undefined);
  const groups = Map.groupBy(scored, (i) => `${words[i].score} ${words[i].word}`);
  return [...groups.values()]
    .map((indices) => ({
      ...words[indices[0]], count: indices.length, hiddenCount: indices.filter((i) => hidden.includes(i)).length,
    }))
    .sort((a, b) => b.score - a.score);
}

/** Draw the strongest words of an answer, and which of them are hidden. */
export function drawStrongestWords({ bars, strongest }, { words, signed }, hidden) {
  const ranked = rankedWords(words, hidden);
  const largest = Math.max(...ranked.map(({ score }) => Math.abs(score)), signed ? NEGLIGIBLE : 0) || 1;
  const row = (kind) => ({ word, score, count, hiddenCount }) => {
    const name = count > 1 ? `${word} ×${count}` : word;
    const note = !hiddenCount ? "" : hiddenCount === count ? ", hidden" : `, ${hiddenCount} of ${count} hidden`;
    const node = barRow(name, Math.abs(score) / largest, formatScore(score, signed), kind, note);
    node.firstChild.classList.toggle("gone", hiddenCount === count);
    return node;
  };
  const list = (some, kind) =>
    el("ul", { class: "bars", "aria-label": `Words ${kind} the class` }, ...some.map(row(kind)));
  const positive = ranked.filter(({ score }) => score > 0).slice(0, MAX_SIGNED);
  const negative = ranked.filter(({ score }) => score < 0).slice(-MAX_SIGNED).reverse();
  const [left, right] = signed ? [positive, negative] : [ranked.slice(0, MAX_UNSIGNED), []];
  bars.replaceChildren(list(left, "for"), list(right, "against"));
  strongest.hidden = !ranked.length;
}
