/** The colours of words, and what they mean. */

import { el } from "./dom.js";
import { options } from "./state.js";

export const NEGLIGIBLE = 0.005; // signed scores below this, half a percentage point, get no colour

/** Colour a word by its strength, with the rule of `vmask.explain.highlight`. */
export function paint(node, strength) {
  const { for: forColour, against, strong } = options.colours;
  const size = Math.min(Math.abs(strength), 1);
  const opacity = size <= strong ? size : 0.9 + (0.1 * (size - strong)) / (1 - strong);
  node.style.setProperty("--ground", `rgba(${strength < 0 ? against : forColour}, ${opacity.toFixed(2)})`);
  node.style.setProperty("--letters", size > strong ? "#fff" : "inherit");
}

/** Whether no score is large enough for a colour. Strengths are relative to the text, so they do not tell. */
export function isNegligible({ signed, words }) {
  return signed && words.length > 0 && words.every(({ score }) => score !== null && Math.abs(score) < NEGLIGIBLE);
}

/** Draw the legend of an answer; it differs for signed scores. */
export function drawLegend(legend, { signed, label, words, negligible }) {
  legend.hidden = words[0]?.score === undefined || negligible;
  const steps = (signed ? [-1, -0.6, -0.25, 0.25, 0.6, 1] : [0.25, 0.6, 1]).map((strength) => {
    const mark = el("mark", {}, !signed ? "\u00a0" : strength > 0 ? "+" : "−");
    paint(mark, strength);
    return mark;
  });
  const [left, right] = signed ? [`against ${label}`, `for ${label}`] : ["matters less", "matters most"];
  legend.replaceChildren(el("span", {}, left), el("span", { class: "steps" }, ...steps), el("span", {}, right));
}
