/** The tab `Words`: the words of a model by their global importance. */

import { $, bar, el, onEvent, setValue } from "./dom.js";
import { formatNumber, plural } from "./format.js";
import { ListView } from "./list-view.js";
import { change, currentModel, state, UNFILTERED } from "./state.js";

const COUNTS = [1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000]; // steps of the slider for the minimum count

function wordRow({ word, score, count, known }) {
  const find = () => change({ ...UNFILTERED, tab: "examples", find: word }, true);
  const name = el("b", { dir: "auto" }, word);
  const link = el("button", { type: "button", class: "plain", title: "Examples with this word", click: find }, name);
  const remark = known ? "" : el("small", { class: "soft" }, " no vector");
  return el("tr", {}, el("th", { scope: "row" }, currentModel().examples ? link : name, remark),
    el("td", {}, bar(score)),
    el("td", { class: "num" }, score.toFixed(3)), el("td", { class: "num" }, formatNumber(count)));
}

const list = new ListView("words", {
  pageSize: 50,
  query: () => ({ model: state.model, query: state.word, min_count: state.min, sort: state.sort }),
  row: wordRow,
  summary: ({ total }) => `${plural(total, "word")}. Importance is how much of a word the model sees, from 0 to 1.`,
});

const sortButtons = () => document.querySelectorAll("[data-sort]");

export const wordsView = {
  setUp() {
    $("min").max = COUNTS.length - 1;
    onEvent("word", "input", (word) => change({ word }));
    onEvent("min", "input", (step) => change({ min: String(COUNTS[step]) }));
    for (const button of sortButtons()) {
      button.addEventListener("click", () => change({ sort: button.dataset.sort }));
    }
  },

  show() {
    const minCount = Number(state.min);
    setValue($("word"), state.word);
    $("min").value = COUNTS.findLastIndex((count) => count <= minCount);
    $("min-value").textContent = plural(minCount, "time");
    $("min").setAttribute("aria-valuetext", plural(minCount, "time"));
    for (const button of sortButtons()) {
      const { sort } = button.dataset;
      button.parentNode.ariaSort = sort !== state.sort ? "none" : sort === "word" ? "ascending" : "descending";
    }
    list.refresh();
  },

  forget() { list.forget(); },
};
