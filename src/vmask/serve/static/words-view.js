/** The tab `Words`: the words of a model by their global importance, with a switch each. */

import { get } from "./api.js";
import { $, bar, el, onEvent, setValue } from "./dom.js";
import { switchWords, visibility } from "./edit.js";
import { editView, nameSome, showEditStatus } from "./edit-view.js";
import { formatNumber, plural } from "./format.js";
import { ListView } from "./list-view.js";
import { change, currentModel, options, state, UNFILTERED } from "./state.js";

const COUNTS = [1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000]; // steps of the slider for the minimum count
const PAGE = 1000; // words that the server lists at a time, at most

const itemOf = new WeakMap(); // the word of a switch

function wordRow({ word, score, count, known, hidden, editable }) {
  const find = () => change({ ...UNFILTERED, tab: "examples", find: word }, true);
  const name = el("b", { dir: "auto" }, word);
  const link = el("button", { type: "button", class: "plain", title: "Examples with this word", click: find }, name);
  const remark = known ? "" : el("small", { class: "soft" }, " no vector");
  const row = el("tr", {}, el("th", { scope: "row" }, currentModel().examples ? link : name, remark),
    el("td", { class: "importance" }, bar(score ?? 0)),
    el("td", { class: "num importance" }, score === null ? "" : score.toFixed(3)),
    el("td", { class: "num" }, formatNumber(count)), el("td", { class: "switches" }));
  if (editable) {
    const label = `${word} is visible`;
    const control = el("button", { type: "button", class: "switch", role: "switch", "aria-label": label });
    itemOf.set(control, { word, hidden });
    row.lastChild.append(control);
    drawSwitch(control, visibility());
  } else {
    row.lastChild.append(el("small", { class: "soft" }, "read as unknown"));
  }
  return row;
}

function drawSwitch(control, isVisible) {
  const visible = isVisible(itemOf.get(control));
  control.setAttribute("aria-checked", visible);
  control.closest("tr").classList.toggle("off", !visible);
}

/** Switch words and return true, or say why that is not possible. */
function trySwitch(words, visible) {
  try {
    switchWords(words, visible);
    return true;
  } catch (error) {
    showEditStatus(error.message, "error");
    return false;
  }
}

/** Say which words have no switch; empty if all have one. */
function leftOut(words) {
  const unknown = words.filter(({ editable }) => !editable).map(({ word }) => word);
  return unknown.length ? `Left out, as the model reads them as its unknown word: ${nameSome(unknown)}.` : "";
}

/** The order of the words; those without an importance are sorted by count. */
const sortBy = () => (state.sort === "importance" && !currentModel().ranks ? "count" : state.sort);
const filter = () => ({ model: state.model, query: state.word, min_count: state.min, sort: sortBy() });

let bulk = new AbortController();

/** Switch all words that match the search, those that are not on the page too. */
async function switchMatches(visible) {
  bulk.abort();
  bulk = new AbortController();
  const { signal } = bulk;
  const limit = options.limits.edit_words;
  try {
    const words = [];
    let total = 1;
    while (words.length < total) {
      const page = await get("api/words", { ...filter(), limit: Math.min(limit, PAGE), offset: words.length }, signal);
      total = page.total;
      if (total > limit) {
        const most = `at most ${formatNumber(limit)} can be switched`;
        throw new Error(`${plural(total, "word")} match; ${most}. Narrow the search.`);
      }
      if (!page.words.length) break;
      words.push(...page.words);
    }
    const editable = words.filter((word) => word.editable);
    const isVisible = visibility();
    if (editable.some((word) => isVisible(word) !== visible)) {
      if (trySwitch(editable, visible)) showEditStatus(leftOut(words));
    } else {
      const done = editable.length ? `All of them are ${visible ? "visible" : "hidden"} already. ` : "";
      showEditStatus(done + leftOut(words));
    }
  } catch (error) {
    if (!signal.aborted) showEditStatus(error.message, "error");
  }
}

const list = new ListView("words", {
  pageSize: 50,
  query: filter,
  row: wordRow,
  summary: ({ total }) => plural(total, "word") + (currentModel().ranks
    ? ". Importance is how much of a word the model sees, from 0 to 1."
    : ". This model gives words no importance."),
  onTotal: (total) => {
    $("matches").hidden = !total;
    $("hide-all").textContent = `Hide all ${formatNumber(total)}`;
    $("show-all").textContent = `Show all ${formatNumber(total)}`;
  },
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
    onEvent("hide-all", "click", () => switchMatches(false));
    onEvent("show-all", "click", () => switchMatches(true));
    $("words-rows").addEventListener("click", ({ target }) => {
      if (itemOf.has(target)) trySwitch([itemOf.get(target)], target.ariaChecked === "false");
    });
    editView.setUp();
  },

  show() {
    const minCount = Number(state.min);
    setValue($("word"), state.word);
    $("min").value = COUNTS.findLastIndex((count) => count <= minCount);
    $("min-value").textContent = plural(minCount, "time");
    $("min").setAttribute("aria-valuetext", plural(minCount, "time"));
    for (const button of sortButtons()) {
      const { sort } = button.dataset;
      button.parentNode.ariaSort = sort !== sortBy() ? "none" : sort === "word" ? "ascending" : "descending";
    }
    $("words-table").classList.toggle("unranked", !currentModel().ranks);
    const isVisible = visibility();
    for (const control of $("words-rows").querySelectorAll("[role=switch]")) drawSwitch(control, isVisible);
    list.refresh();
    editView.show();
  },

  forget() {
    list.forget();
    editView.forget();
  },
};
