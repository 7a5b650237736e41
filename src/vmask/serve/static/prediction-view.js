/** The predicted class and the probabilities, before and after words are hidden. */

import { barRow, el } from "./dom.js";
import { formatPercent, plural, predictedLabels, predictionName } from "./format.js";

const MAX_CLASSES = 10; // that get a bar

/** Draw the prediction of an answer; `hiddenAnswer` is the prediction without the hidden words, or null. */
export function drawPrediction({ classes, headline }, answer, hiddenAnswer) {
  const { labels, model, probabilities: before } = answer;
  const { probabilities: after } = hiddenAnswer ?? answer;
  const current = predictedLabels(hiddenAnswer ?? answer);
  if (classes.dataset.model !== model) { // rows are kept, so that bars are animated
    classes.dataset.model = model;
    classes.replaceChildren(...labels.map((label) => barRow(label, 0, "")));
    for (const row of classes.children) row.children[1].append(el("s"));
  }
  const highest = labels.map((_, i) => Math.max(before[i], after[i]));
  const threshold = highest.toSorted((a, b) => b - a)[MAX_CLASSES - 1] ?? 0;
  labels.forEach((label, i) => {
    const row = classes.children[i];
    const [, { children: [length, tick] }, value] = row.children;
    row.hidden = highest[i] < threshold;
    row.classList.toggle("predicted", current.includes(label));
    length.style.setProperty("width", `${100 * after[i]}%`);
    tick.style.setProperty("left", `${100 * before[i]}%`);
    const [from, to] = [before[i], after[i]].map(formatPercent);
    tick.hidden = from === to;
    value.textContent = from === to ? to : `${from} → ${to}`;
  });
  const [predicted] = predictionName(answer, labels);
  const [name, probability] = predictionName(hiddenAnswer ?? answer, labels);
  const previous = name === predicted ? "" : el("span", { class: "soft" }, `${predicted} → `);
  const unsure = (hiddenAnswer ?? answer).answered === false ? el("span", { class: "soft" }, "not sure: ") : "";
  headline.replaceChildren(unsure, previous, el("b", { dir: "auto" }, name), probability);
}

/** Return the prediction as a sentence for screen readers. */
export function predictionSentence(title, answer, hiddenAnswer, hiddenCount) {
  const describe = (one) => predictionName(one, answer.labels).join("");
  const sentence = `${title}: ${answer.answered === false ? "not sure, " : ""}${describe(answer)}.`;
  if (!hiddenAnswer) return sentence;
  return `${sentence} With ${plural(hiddenCount, "word")} hidden: ${describe(hiddenAnswer)}.`;
}
