/** The text with its words coloured. Words are buttons that hide them. */

import { paint } from "./colours.js";
import { el, nextIndex } from "./dom.js";
import { formatScore, plural } from "./format.js";
import { toggleHidden } from "./hidden-words.js";
import { change } from "./state.js";
import { closeTooltip, openTooltip } from "./tooltip.js";

export class ColouredText {
  /** `part` has the elements of the panel; `currentWords` returns the words of the text of the state. */
  constructor(part, currentWords) {
    this.part = part;
    this.currentWords = currentWords;
    this.answer = null;
    part.reset.addEventListener("click", () => { this.focus(0); change({ hidden: "" }); });
    part.text.addEventListener("click", ({ target }) => this.toggle(target));
    part.text.addEventListener("keydown", (event) => this.handleKey(event));
    for (const type of ["pointerover", "focusin"]) {
      part.text.addEventListener(type, ({ target }) => this.showScore(target));
    }
    for (const type of ["pointerleave", "focusout"]) part.text.addEventListener(type, closeTooltip);
  }

  get marks() { return [...this.part.text.querySelectorAll(".word")]; }

  /** Draw the words of an answer. Offsets count code points, so the text is cut with `Array.from`. */
  draw(answer) {
    this.answer = answer;
    const { text, words, signed, unseen } = answer;
    const points = Array.from(text);
    const cut = (start, end) => points.slice(start, end).join("");
    const focused = this.marks.indexOf(document.activeElement);
    const nodes = [];
    let position = 0;
    for (const { word, start, end, score, strength = 0, hidden = false } of words) {
      const said = hidden ? "hidden from the model" : score === undefined ? "" : formatScore(score, signed);
      const name = said ? `${word}, ${said}` : word;
      const kind = hidden ? "word not-seen" : "word";
      const mark = el("mark", { class: kind, role: "button", tabindex: "-1", "aria-label": name }, word);
      paint(mark, strength);
      nodes.push(cut(position, start), mark);
      position = end;
    }
    nodes.push(unseen ? el("span", { class: "soft" }, cut(position)) : cut(position));
    this.part.text.replaceChildren(...(text.trim() ? nodes : [el("em", { class: "soft" }, "(an empty text)")]));
    this.part.unseen.hidden = !unseen;
    this.part.unseen.textContent = `In grey: ${plural(unseen, "word")} past the model's limit, which it does not see.`;
    closeTooltip();
    if (focused >= 0) this.focus(focused);
    else if (words.length) this.marks[0].tabIndex = 0;
  }

  /** Mark the hidden words, and say how many there are. */
  markHidden(hidden) {
    this.marks.forEach((mark, i) => mark.setAttribute("aria-pressed", hidden.includes(i)));
    this.part.reset.hidden = !hidden.length;
    const { words = [], negligible } = this.answer ?? {};
    const hint = words.length ? "Click a word to hide it and see the prediction move." : "";
    const subject = negligible ? "Scores" : "Colours and scores";
    const scope = words[0]?.score === undefined ? "" : ` ${subject} are of the whole text.`;
    this.part.hint.textContent = hidden.length ? `${plural(hidden.length, "word")} hidden.${scope}` : hint;
  }

  toggle(mark) {
    const i = this.marks.indexOf(mark);
    const words = this.currentWords();
    if (!words[i]) return;
    this.focus(i);
    toggleHidden(words, i);
  }

  /** Focus a word. It is the only one in the tab order; arrow keys lead to the others. */
  focus(i) {
    const { marks } = this;
    for (const mark of marks) mark.tabIndex = -1;
    if (!marks[i]) return;
    marks[i].tabIndex = 0;
    marks[i].focus();
  }

  handleKey(event) {
    const { marks } = this;
    const step = getComputedStyle(this.part.text).direction === "rtl" ? -1 : 1;
    const next = nextIndex(event.key, marks.indexOf(event.target), marks.length, step);
    if (event.key === "Enter" || event.key === " ") this.toggle(event.target);
    else if (marks[next]) this.focus(next);
    else return;
    event.preventDefault();
  }

  showScore(mark) {
    const { words, signed, label } = this.answer ?? {};
    const { score } = words?.[this.marks.indexOf(mark)] ?? {};
    const meaning = signed ? `${score < 0 ? "against" : "for"} ${label}` : "importance";
    if (score === undefined) closeTooltip();
    else openTooltip(mark, formatScore(score, signed), meaning);
  }
}
