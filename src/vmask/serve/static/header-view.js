/** The top of the page: the model, what is known of it, and a link to what is shown. */

import { copyText } from "./clipboard.js";
import { $, el, fillSelect, onEvent } from "./dom.js";
import { formatNumber, formatPercent, spaced } from "./format.js";
import { change, currentModel, NO_SWITCHES, options, state, uniqueTitle, writeAddress } from "./state.js";

const LONG_LINK = 8000; // characters; some programs cut longer links

function formatFact(name, value) {
  if (typeof value !== "number") return String(value);
  return name.endsWith("accuracy") ? formatPercent(value) : formatNumber(value);
}

async function copyLink() {
  writeAddress();
  const { href } = location;
  const copied = await copyText(href, $("link"));
  const length = href.length > LONG_LINK ? ` With its text it has ${formatNumber(href.length)} characters.` : "";
  $("copied").textContent = (copied ? "Link copied." : "Copy this:") + length;
}

export const headerView = {
  setUp() {
    $("version").textContent = `vmask ${options.version}`;
    onEvent("model", "change", (model) => change({
      ...NO_SWITCHES, model, hidden: "", label: "", predicted: "", beside: state.beside === model ? "" : state.beside,
    }, true));
    onEvent("beside", "change", (beside) => change({ beside }, true));
    onEvent("copy", "click", copyLink);
  },

  show() {
    const { about, name, title } = currentModel();
    const choices = options.models.map((model) => [model.name, uniqueTitle(model)]);
    const others = choices.filter(([other]) => other !== name);
    const accuracy = about.test_accuracy;
    const result = accuracy === undefined ? "" : `Right on ${formatPercent(accuracy)} of its test texts. `;
    $("copied").textContent = ""; // a link that was copied leads to another state now
    $("link").hidden = true;
    document.title = `${uniqueTitle(currentModel())} · vmask`;
    $("title").textContent = title;
    $("lead").textContent = `${result}See which words it uses.`;
    fillSelect($("model"), choices, name);
    fillSelect($("beside"), [["", "no other"], ...others], state.beside);
    $("models").hidden = !others.length;
    $("facts").replaceChildren(...Object.entries(about).flatMap(([fact, value]) =>
      [el("dt", {}, spaced(fact)), el("dd", {}, formatFact(fact, value))]));
    $("about").hidden = !Object.keys(about).length;
  },
};
