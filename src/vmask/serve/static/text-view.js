/** The tab `Text`: a text, how its words are coloured, and a panel for each model. */

import { $, fillSelect, onEvent, setValue } from "./dom.js";
import { openOptions, showOptions } from "./options-view.js";
import { Panel } from "./panel.js";
import {
  change, currentModel, DEFAULTS, explainerFor, findByName, options, resetOptions, state, targetFor, UNEDITED,
  uniqueTitle,
} from "./state.js";
import { closeTooltip } from "./tooltip.js";

const ANNOUNCE_DELAY = 700; // milliseconds without a new prediction before screen readers announce it

const panels = [];
let announceTimer;

/** Announce the predictions to screen readers, once the typing has paused. */
function announce() {
  clearTimeout(announceTimer);
  announceTimer = setTimeout(() => {
    $("live").textContent = panels.map((panel) => panel.sentence).join(" ");
  }, ANNOUNCE_DELAY);
}

/** Show a panel for each model: one, or two that are compared. */
function showPanels() {
  const keys = state.beside ? ["model", "beside"] : ["model"];
  while (panels.length > keys.length) panels.pop().remove();
  while (panels.length < keys.length) panels.push(new Panel(keys[panels.length], announce));
  $("panels").classList.toggle("two", keys.length > 1);
  for (const panel of panels) {
    panel.part.name.textContent = uniqueTitle(panel.model);
    panel.part.name.classList.toggle("visually-hidden", panels.length === 1);
    panel.refresh();
  }
}

/** Return the description of an explainer without its title, which is shown above it. */
function shortDescription({ title, description }) {
  const text = description.startsWith(`${title}: `) ? description.slice(title.length + 2) : description;
  return text.charAt(0).toUpperCase() + text.slice(1);
}

export const textView = {
  setUp() {
    onEvent("input", "input", (text) => change({ ...UNEDITED, text }));
    onEvent("explainer", "change", (explainer) => change({ ...resetOptions(), seed: DEFAULTS.seed, explainer }));
    onEvent("target", "change", (target) => change({ target }));
    onEvent("more", "click", () => openOptions($("options").hidden));
    addEventListener("keydown", ({ key }) => key === "Escape" && closeTooltip());
  },

  show() {
    const { labels, explainers } = currentModel();
    const explainer = explainerFor(currentModel());
    const titles = explainers.map((name) => [name, findByName(options.explainers, name).title]);
    fillSelect($("explainer"), titles, explainer.name);
    fillSelect($("target"), [["", "predicted"], ...labels.map((label) => [label, label])], targetFor(currentModel()));
    const models = [currentModel(), findByName(options.models, state.beside)].filter(Boolean);
    $("target").disabled = !models.some((model) => explainerFor(model).by_class);
    $("target").title = $("target").disabled ? "These scores are the same for every class." : "";
    $("method").textContent = shortDescription(explainer);
    $("origin").textContent = state.truth && `A test text, in truth ${state.truth}`;
    setValue($("input"), state.text);
    showOptions();
    showPanels();
  },

  forget() {
    for (const panel of panels) panel.forget();
  },
};
