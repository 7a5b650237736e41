/** The prediction and explanation of the text by a model. Two models that are compared have a panel each. */

import { post } from "./api.js";
import { ColouredText } from "./coloured-text.js";
import { drawLegend, isNegligible } from "./colours.js";
import { $ } from "./dom.js";
import { editFor } from "./edit.js";
import { hiddenIndices } from "./hidden-words.js";
import { drawPrediction, predictionSentence } from "./prediction-view.js";
import { explainerFor, findByName, hideFor, options, state, targetFor } from "./state.js";
import { StatusLine } from "./status-line.js";
import { drawStrongestWords } from "./strongest-words.js";
import { DEBOUNCE, pause } from "./timing.js";

const TYPING_PAUSE = 500; // milliseconds without a keystroke before a slow explainer is asked
const TEMPORARY = [408, 410, 429]; // errors of a request that may succeed later: timeout, shutting down, busy

export class Panel {
  /** `key` is the name of the model in the state, "model" or "beside"; `onPredict` is called with a new prediction. */
  constructor(key, onPredict) {
    this.key = key;
    this.onPredict = onPredict;
    this.root = $("panel").content.firstElementChild.cloneNode(true);
    const parts = [...this.root.querySelectorAll("[data-part]")];
    this.part = Object.fromEntries(parts.map((node) => [node.dataset.part, node]));
    this.text = new ColouredText(this.part, () => this.currentWords);
    this.status = new StatusLine(this.part.status);
    this.explainRequest = this.hiddenRequest = new AbortController();
    this.forget();
    $("panels").append(this.root);
  }

  get model() { return findByName(options.models, state[this.key]); }

  /** The words of the text of the state; none until the server has answered. */
  get currentWords() {
    const { text, model, words } = this.answer ?? {};
    return text === state.text && model === state[this.key] ? words : [];
  }

  get hidden() { return hiddenIndices(this.currentWords); }

  /** The prediction without the hidden words; null if there is none for the text that is shown. */
  get currentHiddenAnswer() {
    return this.hiddenAnswer?.subject === this.answer.subject ? this.hiddenAnswer : null;
  }

  /** The prediction as a sentence for screen readers. */
  get sentence() {
    if (!this.answer) return "";
    const title = state.beside ? this.model.title : "Prediction";
    return predictionSentence(title, this.answer, this.currentHiddenAnswer, this.hidden.length);
  }

  /** Ask for everything anew at the next refresh. */
  forget() {
    this.query = this.hiddenQuery = "";
    this.answer = this.text.answer = this.hiddenAnswer = null;
  }

  /** Remove the panel and cancel its requests. */
  remove() {
    this.explainRequest.abort();
    this.hiddenRequest.abort();
    this.status.stopClock();
    this.root.remove();
  }

  /** Ask for what the state needs and is not known yet. */
  refresh() {
    const query = this.explainQuery();
    if (JSON.stringify(query) !== this.query) this.explain(query);
    this.refreshHidden();
  }

  /** Ask for the prediction without the hidden words. Their indices are known once the words are. */
  refreshHidden() {
    if (!this.model) return; // no longer compared, while another tab is open; the next refresh removes the panel
    const query = {
      texts: [state.text], model: this.model.name, ...editFor(this.model.name), hidden: [this.hidden],
      hide: hideFor(this.model),
    };
    if (JSON.stringify(query) !== this.hiddenQuery) this.predictHidden(query);
  }

  /** Return the request for the explanation. */
  explainQuery() {
    const explainer = explainerFor(this.model);
    const { name } = this.model;
    const query = { texts: [state.text], model: name, ...editFor(name), explainer: explainer.name, options: {} };
    if (targetFor(this.model) && explainer.by_class) query.target = state.target;
    if (explainer.hides) query.hide = hideFor(this.model);
    if (explainer.draws) query.seed = Number(state.seed);
    for (const option of explainer.options) {
      const value = state[`option.${option.name}`];
      if (value !== undefined) query.options[option.name] = optionValue(option, value);
    }
    return query;
  }

  /** Explain the text. A new request cancels the one before. */
  async explain(query, typingPause = TYPING_PAUSE) {
    this.query = JSON.stringify(query);
    this.explainRequest.abort();
    this.explainRequest = new AbortController();
    const { signal } = this.explainRequest;
    const explainer = findByName(options.explainers, query.explainer);
    try {
      await pause(DEBOUNCE, signal);
      if (!explainer.instant) {
        if (this.answer?.subject !== subjectOf(query)) await this.predict(query, signal);
        this.root.classList.toggle("stale", !this.part.legend.hidden);
        await pause(typingPause, signal);
        this.showProgress(`${explainer.title} is at work`);
      }
      const { explanations: [explanation], labels, milliseconds } = await this.postUntilFree(query, signal);
      const negligible = isNegligible(explanation);
      if (negligible) for (const word of explanation.words) word.strength = 0;
      const answer = { ...explanation, labels, ...subjectFields(query), negligible };
      this.show(answer, remarks(explainer, answer, milliseconds));
    } catch (error) {
      if (signal.aborted) return;
      const permanent = error.status >= 400 && error.status < 500 && !TEMPORARY.includes(error.status);
      this.stop(error.message, permanent ? "" : "Try again", "error");
    }
  }

  /** Ask for an explanation, again and again while the queue of the server is full. */
  async postUntilFree(query, signal) {
    for (;;) {
      try {
        return await post("api/explain", query, signal);
      } catch (error) {
        if (error.status !== 429) throw error;
        this.showProgress(error.message);
        await pause(1000 * error.wait, signal);
      }
    }
  }

  /** Show the prediction and words without colours, long before a slow explanation is ready. */
  async predict({ texts, model, edit }, signal) {
    const query = { texts, model, edit, words: true };
    const { predictions: [prediction], labels } = await post("api/predict", query, signal);
    const points = Array.from(texts[0]);
    const words = prediction.words.map((span) => ({ ...span, word: points.slice(span.start, span.end).join("") }));
    this.show({ ...prediction, words, labels, ...subjectFields(query), predicted: prediction.label });
  }

  /** Show the prediction without the hidden words. */
  async predictHidden(query) {
    this.hiddenQuery = JSON.stringify(query);
    this.hiddenRequest.abort();
    this.hiddenRequest = new AbortController();
    const { signal } = this.hiddenRequest;
    this.markHidden();
    try {
      const { hidden: [hidden] } = query;
      const prediction = hidden.length ? (await post("api/predict", query, signal)).predictions[0] : null;
      this.hiddenAnswer = prediction && { ...prediction, ...subjectFields(query) };
      this.showPrediction();
    } catch (error) {
      if (!signal.aborted) this.part.hint.textContent = error.message;
    }
  }

  /** Draw an explanation, or a prediction whose words have no scores. */
  show(answer, note = "") {
    this.answer = answer;
    this.root.classList.remove("stale");
    this.text.draw(answer);
    this.markHidden();
    this.showPrediction();
    this.refreshHidden();
    drawLegend(this.part.legend, answer);
    this.status.show(note);
  }

  /** Say why there is no explanation, and remove the colours: they are of another query. */
  stop(reason, button, kind) {
    this.explainRequest.abort();
    const withoutScore = ({ start, end, word, hidden }) => ({ start, end, word, hidden });
    if (this.answer) this.show({ ...this.answer, words: this.answer.words.map(withoutScore) });
    this.status.show(reason, { button, kind, action: () => this.explain(this.explainQuery(), 0) });
  }

  showProgress(message) {
    this.status.showProgress(message, () => this.stop("Stopped.", "Explain"));
  }

  markHidden() {
    const { hidden } = this;
    this.text.markHidden(hidden);
    if (this.answer) drawStrongestWords(this.part, this.answer, hidden);
  }

  showPrediction() {
    if (!this.answer) return;
    drawPrediction(this.part, this.answer, this.currentHiddenAnswer);
    this.onPredict();
  }
}

/** Return what a query is about, as a key: a text, a model, and an edit of its words. */
function subjectOf({ texts, model, edit }) {
  return JSON.stringify([texts[0], model, edit]);
}

/** Return the text and the model of a query, and both with the edit as a key. */
function subjectFields(query) {
  return { text: query.texts[0], model: query.model, subject: subjectOf(query) };
}

/** Convert an option from the string in the state. */
function optionValue({ kind, choices }, value) {
  if (kind === "bool") return value === "true";
  if (choices) return choices.find((choice) => String(choice) === value) ?? value;
  return kind === "int" || kind === "float" ? Number(value) : value;
}

/** Return what a reader should know of an explanation besides its words. */
function remarks({ title, draws }, { details, seed, negligible }, milliseconds) {
  const notes = [title];
  const errors = details.standard_errors ?? [];
  if (Number.isFinite(details.fit)) notes.push(`fit R² ${details.fit.toFixed(2)}`);
  if (errors.length) notes.push(`standard errors up to ${Math.max(...errors).toPrecision(2)}`);
  if (draws) notes.push(`seed ${seed}`);
  notes.push(milliseconds < 1000 ? `${Math.ceil(milliseconds)} ms` : `${(milliseconds / 1000).toFixed(1)} s`);
  const warning = negligible ? "No word moves this prediction by half a percentage point, so none is coloured. " : "";
  return warning + notes.join(" · ");
}
