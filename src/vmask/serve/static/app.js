/**
 * The page of `vmask serve`: a text with its words coloured, test examples, the model's words, tables to score.
 *
 * All that is seen follows from `state`, a flat map of strings that is also the address behind `#`. Controls change it
 * with `change`, and `refresh` draws what differs. Texts come into the page as text, never as HTML. Offsets of words
 * count code points, so texts are cut with `Array.from`.
 */

const DEBOUNCE = 60; // milliseconds after a keystroke before the server is asked
const PAUSE = 500; // further ones before a slow explainer is asked: a rest in typing
const ROWS = { examples: 20, words: 50 }; // that a list shows at a time
const COUNTS = [1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000]; // steps of the slider for a word's count
const MOST_CLASSES = 10; // that get a bar
const NEGLIGIBLE = 0.005; // scores with a sign below this, half a percentage point, get no colour
const PASSING = [408, 410, 429]; // refusals that another try may not meet: too slow, about to end, busy
const LONG_LINK = 8000; // characters from which some programs cut a link
const SAMPLE = "What a charming little film: the cast is superb, the music lovely, and only the ending is a bit dull.";

const UNEDITED = { truth: "", hidden: "" };
const UNFILTERED = { show: "all", label: "", predicted: "", find: "" };
const DEFAULTS = {
  tab: "text", model: "", beside: "", text: "", explainer: "", target: "", hide: "", seed: "0",
  word: "", min: "3", sort: "importance", ...UNEDITED, ...UNFILTERED,
};

let served; // the answer of api/options
let state = { ...DEFAULTS };

// ------------------------------------------------------------------------------------------------- small things

const $ = (id) => document.getElementById(id);
const named = (list, name) => list.find((one) => one.name === name);
const number = (value) => value.toLocaleString("en");
const counted = (n, thing) => `${number(n)} ${thing}${n === 1 ? "" : "s"}`;
const megabytes = (bytes) => `${Number((bytes / 2 ** 20).toPrecision(2))} MB`;
const spaced = (name) => String(name).replaceAll("_", " ");
const PERCENT = new Intl.NumberFormat("en", { style: "percent", minimumFractionDigits: 1, maximumFractionDigits: 1 });
const percent = (value) => PERCENT.format(value);

/** A new element; attributes that are functions listen, those that are false are left out. */
function el(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") node.addEventListener(name, value);
    else if (value !== false) node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children);
  return node;
}

/** A bar that covers a share of its track; `kind` colours it. */
function bar(share, kind = "") {
  const length = el("i", { class: kind });
  length.style.setProperty("width", `${100 * Math.min(Math.max(share, 0), 1)}%`);
  return el("span", { class: "track", "aria-hidden": "true" }, length);
}

/** A row of a list of bars: a name, its bar, its value; `note` is a remark on the name that screen readers say too. */
function barRow(name, share, value, kind, note = "") {
  const label = el("b", { dir: "auto", title: name + note }, name);
  if (note) label.append(el("span", { class: "unseen" }, note));
  return el("li", {}, label, bar(share, kind), el("span", { class: "num" }, value));
}

/** Give a select its [value, text] pairs and choose one. Unchanged pairs stay, so that an open list is left alone. */
function fill(select, pairs, chosen) {
  const key = JSON.stringify(pairs);
  if (select.pairs !== key) select.replaceChildren(...pairs.map(([value, text]) => el("option", { value }, text)));
  select.pairs = key;
  select.value = chosen;
}

/** Set a field without moving the cursor of who is typing in it. */
function write(field, value) {
  if (field.value !== value) field.value = value;
}

/** Wait; throw when the signal aborts. */
function pause(milliseconds, signal) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, milliseconds);
    signal?.addEventListener("abort", () => { clearTimeout(timer); reject(signal.reason); }, { once: true });
  });
}

/** Where a key leads from the i-th of n things; undefined for other keys. */
function stepTo(key, i, n, ahead = 1) {
  return { ArrowLeft: i - ahead, ArrowRight: i + ahead, Home: 0, End: n - 1 }[key];
}

/** A score in a few significant digits, with its sign where that means something. */
function shownScore(score, signed) {
  const size = Math.abs(score);
  const sign = score < 0 ? "−" : signed ? "+" : "";
  return sign + (size > 0 && size < 0.001 ? size.toExponential(1) : size.toPrecision(3));
}

/** Ground and letters of a word of this strength: the rule of `vmask.explain.highlight`. */
function paint(node, strength) {
  const { for: speaksFor, against, strong } = served.colours;
  const size = Math.min(Math.abs(strength), 1);
  const opacity = size <= strong ? size : 0.9 + (0.1 * (size - strong)) / (1 - strong);
  node.style.setProperty("--ground", `rgba(${strength < 0 ? against : speaksFor}, ${opacity.toFixed(2)})`);
  node.style.setProperty("--letters", size > strong ? "#fff" : "inherit");
}

let resting; // timer of what screen readers are told once the typing rests

function announce() {
  clearTimeout(resting);
  resting = setTimeout(() => { $("live").textContent = panels.map((one) => one.sentence()).join(" "); }, 700);
}

// ------------------------------------------------------------------------------------------------- the server

/** The token that a server may ask for, of this tab alone. A link brings it behind `#`, which browsers send to nobody;
 *  it is taken out of the address at once, so that neither a copied link nor the history has it. */
const token = {
  value: "",

  take() {
    const told = new URLSearchParams(location.hash.slice(1));
    const found = told.get("token");
    if (found !== null) {
      told.delete("token");
      history.replaceState(null, "", told.size ? `#${told}` : location.pathname + location.search);
      this.keep(found);
    } else {
      try { this.value ||= sessionStorage.getItem("token") ?? ""; } catch { /* nothing may be stored: it is asked for */ }
    }
  },

  keep(value) {
    this.value = value;
    try { sessionStorage.setItem("token", value); } catch { /* until the page is left */ }
  },

  /** What is asked, with the token. */
  with(init) {
    return this.value ? { ...init, headers: { ...init.headers, Authorization: `Bearer ${this.value}` } } : init;
  },
};

let unlocking; // the wait for a token, one for all who ask

/** Let the reader give the token that the server asks for. */
function unlock() {
  const form = $("unlock");
  $("token-status").textContent = token.value ? "The server does not know this token." : "";
  if (!served) $("lead").textContent = "";
  unlocking ??= new Promise((resolve) => {
    form.hidden = false;
    $("token").focus();
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      token.keep($("token").value.trim());
      $("token").value = "";
      form.hidden = true;
      unlocking = undefined;
      resolve();
    }, { once: true });
  });
  return unlocking;
}

/** Ask the server. Its errors are thrown with their sentence; its silence is also said at the top of the page. */
async function ask(path, init = {}) {
  const shown = token.value;
  let response;
  try {
    response = await fetch(path, token.with(init));
  } catch (error) {
    if (init.signal?.aborted) throw error;
    waitForServer();
    throw new Error("The server does not answer.");
  }
  if (response.ok) return response;
  if (response.status === 401) {
    if (token.value === shown) await unlock(); // else another question has brought a new one meanwhile
    return ask(path, init);
  }
  const told = await response.json().catch(() => ({}));
  const error = new Error(told.detail ?? `The server answered with error ${response.status}.`);
  throw Object.assign(error, { status: response.status, wait: Number(response.headers.get("Retry-After")) || 1 });
}

async function get(path, values, signal) {
  return (await ask(`${path}?${new URLSearchParams(values)}`, { signal })).json();
}

async function post(path, body, signal) {
  const headers = { "Content-Type": "application/json" };
  return (await ask(path, { method: "POST", headers, body: JSON.stringify(body), signal })).json();
}

/** Say that the server has gone, and go on when it is back. It may come back with other models. */
async function waitForServer() {
  const away = $("away");
  if (!away.hidden) return;
  away.textContent = "The server does not answer. Once vmask serve runs again, this page goes on by itself.";
  away.hidden = false;
  let found = null;
  while (!found) {
    await pause(1500);
    found = await fetch("api/options", token.with({})).then((answer) => answer.json()).catch(() => null);
  }
  if (JSON.stringify(found) !== JSON.stringify(served)) location.reload();
  away.hidden = true;
  for (const part of [...panels, ...Object.values(listings)]) part.forget();
  refresh();
}

// ------------------------------------------------------------------------------------------------- state and address

const model = () => named(served.models, state.model);
const hideFor = ({ hides }) => (hides.includes(state.hide) ? state.hide : hides[0]);
const classFor = ({ labels }) => (labels.includes(state.target) ? state.target : "");
const isOption = (key) => key.startsWith("option.");

function explainerFor({ explainers }) {
  return named(served.explainers, explainers.includes(state.explainer) ? state.explainer : explainers[0]);
}

/** The state that an address tells; what the models at hand cannot be asked is left out. */
function stateOf(hash) {
  const told = [...new URLSearchParams(hash.slice(1))].filter(([key]) => key in DEFAULTS || isOption(key));
  const found = { ...DEFAULTS, ...Object.fromEntries(told) };
  if (!named(served.models, found.model)) found.model = served.models[0].name;
  if (!named(served.models, found.beside) || found.beside === found.model) found.beside = "";
  if (!$(`tab-${found.tab}`)) found.tab = DEFAULTS.tab;
  return found;
}

/** The address of the state: what differs from the defaults, and the text, which may be empty. */
function address() {
  const told = Object.entries(state).filter(([key, value]) => value !== DEFAULTS[key] || key === "text");
  return `#${new URLSearchParams(told)}`;
}

let unwritten; // timer of an address that is not written yet: browsers refuse to change it with every keystroke

function writeAddress() {
  clearTimeout(unwritten);
  history.replaceState(null, "", address());
}

/** Change the state. With `push` the back button leads to what was before. */
function change(changes, push = false) {
  if (push) writeAddress();
  Object.assign(state, changes);
  if (push) history.pushState(null, "", address());
  clearTimeout(unwritten);
  unwritten = setTimeout(writeAddress, 250);
  refresh();
}

/** Forget the options of an explainer that is no longer used. */
function withoutOptions() {
  return Object.fromEntries(Object.keys(state).filter(isOption).map((key) => [key, undefined]));
}

async function copyLink() {
  writeAddress();
  const { href } = location;
  const copied = await navigator.clipboard?.writeText(href).then(() => true, () => false);
  $("copied").textContent = copied ? "Link copied." : "Copy this:";
  if (href.length > LONG_LINK) $("copied").textContent += ` With its text it has ${number(href.length)} characters.`;
  $("link").hidden = copied;
  $("link").value = href;
  if (!copied) $("link").select();
}

// ------------------------------------------------------------------------------------------------- a model's answer

/** What a model says to the text. There are two where models are compared; `key` names the model in the state. */
class Panel {
  constructor(key) {
    this.key = key;
    this.root = $("panel").content.firstElementChild.cloneNode(true);
    const parts = [...this.root.querySelectorAll("[data-part]")];
    this.part = Object.fromEntries(parts.map((node) => [node.dataset.part, node]));
    const { said, reset } = this.part;
    reset.addEventListener("click", () => { this.focus(0); change({ hidden: "" }); });
    said.addEventListener("click", ({ target }) => this.toggle(target));
    said.addEventListener("keydown", (event) => this.pressed(event));
    for (const kind of ["pointerover", "focusin"]) said.addEventListener(kind, ({ target }) => this.tell(target));
    for (const kind of ["pointerleave", "focusout"]) said.addEventListener(kind, closeTip);
    this.explaining = this.hiding = new AbortController();
    this.forget();
    $("panels").append(this.root);
  }

  get model() { return named(served.models, state[this.key]); }

  /** The words of the state's text, none until they are known. */
  get found() {
    const { text, model: name, words } = this.shown ?? {};
    return text === state.text && name === state[this.key] ? words : [];
  }

  /** Numbers of the hidden words. */
  get hidden() {
    const { found } = this;
    const places = hiddenPlaces();
    return [...found.keys()].filter((i) => places.some((place) => covers(place, found[i], i)));
  }

  get words() { return [...this.part.said.querySelectorAll(".word")]; }

  /** The prediction without the hidden words, where it is of the text that is shown. */
  get moved() {
    const { text, model: name } = this.shown;
    return this.after?.text === text && this.after.model === name ? this.after : null;
  }

  /** Ask everything anew at the next refresh. */
  forget() {
    this.question = this.hiddenQuestion = "";
    this.shown = this.after = null;
  }

  /** Take it away, and what it asked. */
  leave() {
    this.explaining.abort();
    this.hiding.abort();
    clearInterval(this.clock);
    this.root.remove();
  }

  /** Ask what is not known yet. */
  refresh() {
    const question = this.asked();
    if (JSON.stringify(question) !== this.question) this.explain(question);
    this.refreshHidden();
  }

  /** Ask for the prediction without the hidden words, whose numbers are known once the words are. */
  refreshHidden() {
    if (!this.model) return; // compared no more while another tab is looked at; it goes when this one is
    const { model: { name }, hidden } = this;
    const about = { texts: [state.text], model: name, hidden: [hidden], hide: hideFor(this.model) };
    if (JSON.stringify(about) !== this.hiddenQuestion) this.predictHidden(about);
  }

  /** What the server is asked for an explanation. */
  asked() {
    const explainer = explainerFor(this.model);
    const question = { texts: [state.text], model: this.model.name, explainer: explainer.name, options: {} };
    if (classFor(this.model) && explainer.by_class) question.target = state.target;
    if (explainer.hides) question.hide = hideFor(this.model);
    if (explainer.draws) question.seed = Number(state.seed);
    for (const option of explainer.options) {
      const value = state[`option.${option.name}`];
      if (value !== undefined) question.options[option.name] = typed(option, value);
    }
    return question;
  }

  /** Explain the text. Who asks a new question drops the one before it, and its answer. */
  async explain(question, rest = PAUSE) {
    this.question = JSON.stringify(question);
    this.explaining.abort();
    this.explaining = new AbortController();
    const { signal } = this.explaining;
    const explainer = named(served.explainers, question.explainer);
    try {
      await pause(DEBOUNCE, signal);
      if (!explainer.instant) {
        if (this.shown?.text !== question.texts[0] || this.shown.model !== question.model) {
          await this.predict(question, signal);
        }
        this.root.classList.toggle("stale", !this.part.legend.hidden);
        await pause(rest, signal);
        this.busy(`${explainer.title} is at work`);
      }
      const { explanations: [found], labels, milliseconds } = await this.patiently(question, signal);
      Object.assign(found, { labels, model: question.model, text: question.texts[0], faint: isFaint(found) });
      if (found.faint) for (const word of found.words) word.strength = 0;
      this.show(found, remarks(explainer, found, milliseconds));
    } catch (error) {
      const final = error.status >= 400 && error.status < 500 && !PASSING.includes(error.status);
      if (!signal.aborted) this.stop(error.message, final ? "" : "Try again", "error");
    }
  }

  /** The answer of an explainer, asked again while the server's queue is full. */
  async patiently(question, signal) {
    for (;;) {
      try {
        return await post("api/explain", question, signal);
      } catch (error) {
        if (error.status !== 429) throw error;
        this.busy(error.message);
        await pause(1000 * error.wait, signal);
      }
    }
  }

  /** A prediction with plain words, which is there long before a slow explanation. */
  async predict({ texts, model: name }, signal) {
    const { predictions: [found], labels } = await post("api/predict", { texts, model: name, words: true }, signal);
    const points = Array.from(texts[0]);
    const words = found.words.map((at) => ({ ...at, word: points.slice(at.start, at.end).join("") }));
    this.show({ ...found, words, labels, model: name, text: texts[0], predicted: found.label });
  }

  /** The prediction without the hidden words. */
  async predictHidden(question) {
    this.hiddenQuestion = JSON.stringify(question);
    this.hiding.abort();
    this.hiding = new AbortController();
    const { signal } = this.hiding;
    this.markHidden();
    try {
      const { texts: [text], model: name, hidden: [hidden] } = question;
      const found = hidden.length ? (await post("api/predict", question, signal)).predictions[0] : null;
      this.after = found && { ...found, text, model: name };
      this.showPrediction();
    } catch (error) {
      if (!signal.aborted) this.part.hint.textContent = error.message;
    }
  }

  /** Draw an explanation, or a prediction whose words have no scores. */
  show(found, note = "") {
    this.shown = found;
    this.root.classList.remove("stale");
    this.showText();
    this.showPrediction();
    this.refreshHidden();
    showLegend(this.part.legend, found);
    this.say(note);
  }

  /** Say why there is no explanation. Colours of another question would mislead. */
  stop(why, button, kind) {
    this.explaining.abort();
    const plain = ({ start, end, word }) => ({ start, end, word });
    if (this.shown) this.show({ ...this.shown, words: this.shown.words.map(plain) });
    this.say(why, button, kind);
  }

  showText() {
    const { text, words, signed, unseen } = this.shown;
    const points = Array.from(text);
    const cut = (start, end) => points.slice(start, end).join("");
    const focused = this.words.indexOf(document.activeElement);
    const parts = [];
    let at = 0;
    for (const { word, start, end, score, strength = 0 } of words) {
      const name = score === undefined ? word : `${word}, ${shownScore(score, signed)}`;
      const mark = el("mark", { class: "word", role: "button", tabindex: "-1", "aria-label": name }, word);
      paint(mark, strength);
      parts.push(cut(at, start), mark);
      at = end;
    }
    parts.push(unseen ? el("span", { class: "soft" }, cut(at)) : cut(at));
    this.part.said.replaceChildren(...(text.trim() ? parts : [el("em", { class: "soft" }, "(an empty text)")]));
    this.part.unseen.hidden = !unseen;
    this.part.unseen.textContent = `In grey: ${counted(unseen, "word")} past the model's limit, which it does not see.`;
    closeTip();
    this.markHidden();
    if (focused >= 0) this.focus(focused);
    else if (words.length) this.words[0].tabIndex = 0;
  }

  markHidden() {
    const { hidden } = this;
    this.words.forEach((mark, i) => mark.setAttribute("aria-pressed", hidden.includes(i)));
    this.part.reset.hidden = !hidden.length;
    const { words = [], faint } = this.shown ?? {};
    const hint = words.length ? "Click a word to hide it and see the prediction move." : "";
    const scores = faint ? "Scores" : "Colours and scores";
    const whole = words[0]?.score === undefined ? "" : ` ${scores} are of the whole text.`;
    this.part.hint.textContent = hidden.length ? `${counted(hidden.length, "word")} hidden.${whole}` : hint;
    if (this.shown) this.showStrongest();
  }

  showPrediction() {
    if (!this.shown) return;
    const { labels, model: name, probabilities: before, predicted } = this.shown;
    const { classes, headline } = this.part;
    const now = this.moved ?? { label: predicted, probabilities: before };
    if (classes.dataset.model !== name) { // rows are kept, so that bars glide
      classes.dataset.model = name;
      classes.replaceChildren(...labels.map((label) => barRow(label, 0, "")));
      for (const row of classes.children) row.children[1].append(el("s"));
    }
    const highest = labels.map((_, i) => Math.max(before[i], now.probabilities[i]));
    const least = highest.toSorted((a, b) => b - a)[MOST_CLASSES - 1] ?? 0;
    labels.forEach((label, i) => {
      const row = classes.children[i];
      const [, { children: [length, was] }, value] = row.children;
      row.hidden = highest[i] < least;
      row.classList.toggle("predicted", label === now.label);
      length.style.setProperty("width", `${100 * now.probabilities[i]}%`);
      was.style.setProperty("left", `${100 * before[i]}%`);
      const [from, to] = [before[i], now.probabilities[i]].map(percent);
      was.hidden = from === to;
      value.textContent = from === to ? to : `${from} → ${to}`;
    });
    const sure = ` ${percent(now.probabilities[labels.indexOf(now.label)])}`;
    const was = now.label === predicted ? "" : el("span", { class: "soft" }, `${predicted} → `);
    headline.replaceChildren(was, el("b", { dir: "auto" }, now.label), sure);
    announce();
  }

  /** The prediction as screen readers say it. */
  sentence() {
    if (!this.shown) return "";
    const { labels, predicted, probabilities } = this.shown;
    const said = (found) => `${found.label} ${percent(found.probabilities[labels.indexOf(found.label)])}`;
    const whole = `${state.beside ? this.model.title : "Prediction"}: ${said({ label: predicted, probabilities })}.`;
    return this.moved ? `${whole} With ${counted(this.hidden.length, "word")} hidden: ${said(this.moved)}.` : whole;
  }

  showStrongest() {
    const { words, signed } = this.shown;
    const hidden = new Set(this.hidden);
    const scored = [...words.keys()].filter((i) => words[i].score !== undefined);
    const groups = Map.groupBy(scored, (i) => `${words[i].score} ${words[i].word}`);
    const ranked = [...groups.values()] // a mask gives all places of a word the same score: they get one bar
      .map((at) => ({ ...words[at[0]], n: at.length, gone: at.filter((i) => hidden.has(i)).length }))
      .sort((a, b) => b.score - a.score);
    const greatest = Math.max(...ranked.map(({ score }) => Math.abs(score)), signed ? NEGLIGIBLE : 0) || 1;
    const row = (kind) => ({ word, score, n, gone }) => {
      const name = n > 1 ? `${word} ×${n}` : word;
      const note = !gone ? "" : gone === n ? ", hidden" : `, ${gone} of ${n} hidden`;
      const made = barRow(name, Math.abs(score) / greatest, shownScore(score, signed), kind, note);
      made.firstChild.classList.toggle("gone", gone === n);
      return made;
    };
    const list = (some, kind) =>
      el("ul", { class: "bars", "aria-label": `Words ${kind} the class` }, ...some.map(row(kind)));
    const speakFor = signed ? ranked.filter(({ score }) => score > 0).slice(0, 5) : ranked.slice(0, 8);
    const against = signed ? ranked.filter(({ score }) => score < 0).slice(-5).reverse() : [];
    this.part.bars.replaceChildren(list(speakFor, "for"), list(against, "against"));
    this.part.strongest.hidden = !ranked.length;
  }

  /** The line under the text: a remark, or why there is none and a button to explain the text now. */
  say(text, button = "", kind = "") {
    clearInterval(this.clock);
    const { status } = this.part;
    status.className = `status ${kind || "soft"}`;
    status.role = kind && "alert";
    status.replaceChildren(el("span", {}, text));
    const again = () => this.explain(this.asked(), 0);
    if (button) status.append(el("button", { type: "button", click: again }, button));
  }

  /** The same while a slow explainer works: how long it has done so, and a way to stop it. */
  busy(text) {
    const began = Date.now();
    const seconds = el("span", { class: "num", "aria-hidden": "true" });
    this.say(text);
    this.part.status.prepend(el("progress", { "aria-label": text }));
    this.part.status.append(seconds,
      el("button", { type: "button", click: () => this.stop("Stopped.", "Explain") }, "Cancel"));
    this.clock = setInterval(() => { seconds.textContent = `${Math.round((Date.now() - began) / 1000)} s`; }, 1000);
  }

  toggle(mark) {
    const i = this.words.indexOf(mark);
    const word = this.found[i];
    if (!word) return;
    this.focus(i);
    const others = hiddenPlaces().filter((place) => !covers(place, word, i));
    const places = this.hidden.includes(i) ? others : [...others, [word.start, word.end]];
    change({ hidden: places.sort(([a], [b]) => a - b).map((place) => place.join("-")).join(",") });
  }

  /** One word is in the tab order; arrow keys lead to the others. */
  focus(i) {
    const { words } = this;
    for (const mark of words) mark.tabIndex = -1;
    if (!words[i]) return;
    words[i].tabIndex = 0;
    words[i].focus();
  }

  pressed(event) {
    const { words, part: { said } } = this;
    const i = words.indexOf(event.target);
    const ahead = getComputedStyle(said).direction === "rtl" ? -1 : 1;
    const next = stepTo(event.key, i, words.length, ahead);
    if (event.key === "Enter" || event.key === " ") this.toggle(event.target);
    else if (words[next]) this.focus(next);
    else return;
    event.preventDefault();
  }

  /** Show a word's score beside it. */
  tell(mark) {
    const { words, signed, label } = this.shown ?? {};
    const { score } = words?.[this.words.indexOf(mark)] ?? {};
    if (score === undefined) closeTip();
    else openTip(mark, shownScore(score, signed), signed ? `${score < 0 ? "against" : "for"} ${label}` : "importance");
  }
}

const panels = [];

/** The hidden places of the text, [start, end] each: the same for all models, whatever is a word to them. Older links
 *  have [number of a word]. */
function hiddenPlaces() {
  return state.hidden.split(",").filter((one) => /^\d+(-\d+)?$/.test(one)).map((one) => one.split("-").map(Number));
}

/** Whether a hidden place takes the i-th word along. */
function covers([start, end], word, i) {
  return end === undefined ? start === i : start < word.end && word.start < end;
}

/** Whether no word matters enough for a colour. Strengths are relative to the text, so the server paints them all. */
function isFaint({ signed, words }) {
  return signed && words.length > 0 && words.every(({ score }) => score !== null && Math.abs(score) < NEGLIGIBLE);
}

/** What a reader should know of an explanation besides its words. */
function remarks({ title, draws }, { details, seed, faint }, milliseconds) {
  const notes = [title];
  const errors = details.standard_errors ?? [];
  if (Number.isFinite(details.fit)) notes.push(`fit R² ${details.fit.toFixed(2)}`);
  if (errors.length) notes.push(`standard errors up to ${Math.max(...errors).toPrecision(2)}`);
  if (draws) notes.push(`seed ${seed}`);
  notes.push(milliseconds < 1000 ? `${Math.ceil(milliseconds)} ms` : `${(milliseconds / 1000).toFixed(1)} s`);
  const warning = faint ? "No word moves this prediction by half a percentage point, so none is coloured. " : "";
  return warning + notes.join(" · ");
}

/** What the colours mean; it differs where scores have a sign. */
function showLegend(place, { signed, label, words, faint }) {
  place.hidden = words[0]?.score === undefined || faint;
  const steps = (signed ? [-1, -0.6, -0.25, 0.25, 0.6, 1] : [0.25, 0.6, 1]).map((strength) => {
    const mark = el("mark", {}, !signed ? "\u00a0" : strength > 0 ? "+" : "−");
    paint(mark, strength);
    return mark;
  });
  const [left, right] = signed ? [`against ${label}`, `for ${label}`] : ["matters less", "matters most"];
  place.replaceChildren(el("span", {}, left), el("span", { class: "steps" }, ...steps), el("span", {}, right));
}

function openTip(mark, strong, soft) {
  const tip = $("tip");
  tip.replaceChildren(el("b", {}, strong), ` ${soft}`);
  tip.hidden = false;
  const [box] = mark.getClientRects(); // its first line, where it breaks
  const room = document.documentElement.clientWidth - tip.offsetWidth - 8;
  const left = Math.max(Math.min(box.left + (box.width - tip.offsetWidth) / 2, room), 8);
  const top = box.top > tip.offsetHeight + 12 ? box.top - tip.offsetHeight - 6 : box.bottom + 6;
  tip.style.setProperty("left", `${left + scrollX}px`);
  tip.style.setProperty("top", `${top + scrollY}px`);
}

function closeTip() {
  $("tip").hidden = true;
}

// ------------------------------------------------------------------------------------------------- the text

/** The value of an option, from the string of its control. */
function typed({ kind, choices }, value) {
  if (kind === "bool") return value === "true";
  if (choices) return choices.find((one) => String(one) === value) ?? value;
  return kind === "int" || kind === "float" ? Number(value) : value;
}

const FIELDS = { bool: { type: "checkbox" }, int: { type: "number" }, float: { type: "number", step: "any" } };

/** A row for an option as the server describes it. An empty field means the default. */
function optionRow({ name, kind, choices, most, help, default: usual }, key) {
  const about = { id: key, "aria-describedby": `${key}-help`, max: most ?? false, ...FIELDS[kind] };
  const node = el(choices ? "select" : "input", about);
  node.addEventListener("change", () => {
    const value = kind === "bool" ? String(node.checked) : node.value;
    change({ [key]: ["", String(usual)].includes(value) ? DEFAULTS[key] : value });
  });
  if (choices) fill(node, choices.map((one) => [String(one), spaced(one)]));
  const row = el("div", { class: "option" }, el("label", { for: key }, spaced(name)), node,
    el("small", { id: `${key}-help`, class: "soft" }, help));
  row.sync = () => {
    const now = state[key] || String(usual ?? "");
    if (kind === "bool") node.checked = now === "true";
    else write(node, now);
  };
  return row;
}

function openOptions(open) {
  $("options").hidden = !open;
  $("more").setAttribute("aria-expanded", open);
}

/** Show what stands behind `More` where a link has changed it. */
function openChangedOptions() {
  const { options, draws } = explainerFor(model());
  const changed = options.some(({ name }) => state[`option.${name}`] !== undefined);
  const seeded = draws && state.seed !== DEFAULTS.seed;
  if (changed || seeded || hideFor(model()) !== model().hides[0]) openOptions(true);
}

let optionsOf = ""; // model and explainer whose options are shown

/** The rule of hiding, the explainer's own options and its seed, behind `More`. */
function showOptions() {
  const explainer = explainerFor(model());
  const box = $("options");
  if (optionsOf !== `${state.model} ${explainer.name}`) {
    optionsOf = `${state.model} ${explainer.name}`;
    const ways = model().hides;
    const hiding = { name: "hiding", kind: "choice", choices: ways, default: ways[0], help: "" };
    const seed = { name: "seed", kind: "int", default: 0, help: "of its random draws" };
    const rows = explainer.options.map((option) => optionRow(option, `option.${option.name}`));
    box.replaceChildren(optionRow(hiding, "hide"), ...rows, ...(explainer.draws ? [optionRow(seed, "seed")] : []));
  }
  for (const row of box.children) row.sync();
  $("hide-help").textContent = `A hidden word: ${named(served.hides, hideFor(model())).description}.`;
}

/** As many panels as models are looked at. */
function showPanels() {
  const keys = state.beside ? ["model", "beside"] : ["model"];
  while (panels.length > keys.length) panels.pop().leave();
  while (panels.length < keys.length) panels.push(new Panel(keys[panels.length]));
  $("panels").classList.toggle("two", keys.length > 1);
  for (const panel of panels) {
    panel.part.name.textContent = titled(panel.model);
    panel.part.name.classList.toggle("unseen", panels.length === 1);
    panel.refresh();
  }
}

/** The description of an explainer, without its title, which is seen above it. */
function aboutMethod({ title, description }) {
  const rest = description.startsWith(`${title}: `) ? description.slice(title.length + 2) : description;
  return rest.charAt(0).toUpperCase() + rest.slice(1);
}

function showText() {
  const { labels, explainers } = model();
  const explainer = explainerFor(model());
  fill($("explainer"), explainers.map((name) => [name, named(served.explainers, name).title]), explainer.name);
  fill($("target"), [["", "predicted"], ...labels.map((label) => [label, label])], classFor(model()));
  const looked = [model(), named(served.models, state.beside)].filter(Boolean);
  $("target").disabled = !looked.some((one) => explainerFor(one).by_class);
  $("target").title = $("target").disabled ? "These scores are the same for every class." : "";
  $("method").textContent = aboutMethod(explainer);
  $("origin").textContent = state.truth && `A test text, in truth ${state.truth}`;
  write($("input"), state.text);
  showOptions();
  showPanels();
}

// ------------------------------------------------------------------------------------------------- lists

/** Rows of an answer of the server, some at a time; `name` is that of the tab, the address and the rows. */
class Listing {
  constructor(name, { question, row, summary }) {
    Object.assign(this, { name, question, row, summary });
    this.rows = $(`${name}-rows`);
    this.status = $(`${name}-status`);
    this.more = $(`${name}-more`);
    this.more.addEventListener("click", () => this.loadMore());
    this.asking = new AbortController();
    this.forget();
  }

  forget() { this.asked = ""; }

  refresh() {
    const question = JSON.stringify(this.question());
    if (question !== this.asked) this.load(0);
    this.asked = question;
  }

  async load(offset) {
    this.asking.abort();
    this.asking = new AbortController();
    const { signal } = this.asking;
    try {
      if (!offset) await pause(DEBOUNCE, signal);
      const answer = await this.ready({ ...this.question(), limit: ROWS[this.name], offset }, signal);
      if (!offset) this.rows.replaceChildren();
      this.rows.append(...answer[this.name].map(this.row));
      this.say(answer.total ? this.summary(answer) : "There is nothing like that.", answer.total);
    } catch (error) {
      if (!signal.aborted) this.say(error.message);
    }
  }

  /** What there is in all, or why there is nothing. */
  say(text, total = 0) {
    this.status.textContent = text;
    this.rows.closest(".card").hidden = !total;
    this.more.hidden = this.rows.childElementCount >= total;
  }

  /** The answer, once the server has predicted the test texts. */
  async ready(values, signal) {
    for (;;) {
      const answer = await get(`api/${this.name}`, values, signal);
      $("preparing").hidden = answer.preparing === undefined;
      if (answer.preparing === undefined) return answer;
      $("preparing").value = answer.preparing;
      this.status.textContent = "The model is predicting the test texts …";
      await pause(1000, signal);
    }
  }

  async loadMore() {
    const first = this.rows.childElementCount;
    await this.load(first);
    this.rows.children[first]?.querySelector("button")?.focus();
  }
}

function exampleRow({ text, label, predicted, probability, right }) {
  const open = () => {
    change({ ...UNEDITED, ...asTyped({ text, label }), tab: "text" }, true);
    scrollTo(0, 0);
    $("tab-text").focus();
  };
  const verdict = el("span", { class: right ? "right" : "wrong" }, right ? " ✓ right" : ` ✗ in truth ${label}`);
  return el("li", {}, el("button", { type: "button", class: "example", click: open },
    el("span", { class: "quoted", dir: "auto" }, text.trim() ? text : "(an empty text)"),
    el("span", { class: "verdict soft" }, el("b", {}, predicted), ` ${percent(probability)} `, verdict)));
}

/** The state of an example, its text as a text field has it. */
function asTyped({ text, label }) {
  return { text: text.replace(/\r\n?/g, "\n"), truth: label };
}

function wordRow({ word, score, count, known }) {
  const find = () => change({ ...UNFILTERED, tab: "examples", find: word }, true);
  const name = el("b", { dir: "auto" }, word);
  const linked = el("button", { type: "button", class: "plain", title: "Examples with this word", click: find }, name);
  const remark = known ? "" : el("small", { class: "soft" }, " no vector");
  return el("tr", {}, el("th", { scope: "row" }, model().examples ? linked : name, remark), el("td", {}, bar(score)),
    el("td", { class: "num" }, score.toFixed(3)), el("td", { class: "num" }, number(count)));
}

const listings = {
  examples: new Listing("examples", {
    question: () => ({
      model: state.model, show: state.show, label: state.label, predicted: state.predicted, query: state.find,
    }),
    row: exampleRow,
    summary: ({ total, accuracy, dataset, split }) => {
      const order = state.show === "uncertain" ? ", least certain first" : "";
      const found = `${counted(total, "text")} of ${dataset} (${split})${order}.`;
      return `${found} The model is right on ${percent(accuracy)} of all.`;
    },
  }),
  words: new Listing("words", {
    question: () => ({ model: state.model, query: state.word, min_count: state.min, sort: state.sort }),
    row: wordRow,
    summary: ({ total }) => `${counted(total, "word")}. Importance is how much of a word the model sees, from 0 to 1.`,
  }),
};

function showExamples() {
  const { labels, examples, no_examples: why } = model();
  const classes = [["", "any class"], ...labels.map((label) => [label, label])];
  fill($("label"), classes, state.label);
  fill($("predicted"), classes, state.predicted);
  $("show").value = state.show;
  write($("find"), state.find);
  $("examples").querySelector(".fields").hidden = !examples;
  if (examples) listings.examples.refresh();
  else listings.examples.say(why ?? "No test texts are at hand for this model.");
}

function showWords() {
  const least = Number(state.min);
  write($("word"), state.word);
  $("min").value = COUNTS.findLastIndex((count) => count <= least);
  $("min-said").textContent = counted(least, "time");
  $("min").setAttribute("aria-valuetext", counted(least, "time"));
  for (const button of document.querySelectorAll("[data-sort]")) {
    const { sort } = button.dataset;
    button.parentNode.ariaSort = sort !== state.sort ? "none" : sort === "word" ? "ascending" : "descending";
  }
  listings.words.refresh();
}

// ------------------------------------------------------------------------------------------------- tables

let table; // the file that was chosen last

/** Rows of a CSV. */
function readCsv(text) {
  const rows = [[]];
  for (const [, quoted, plain, end] of text.matchAll(/(?:"([^"]*(?:""[^"]*)*)"|([^",\r\n]*))(,|\r?\n|$)/g)) {
    rows.at(-1).push(quoted?.replaceAll('""', '"') ?? plain);
    if (end !== ",") rows.push([]);
  }
  return rows.filter((row) => row.length > 1);
}

/** Have a table scored and offer the result. */
async function score(file) {
  table = file;
  const say = (kind, ...parts) => { $("file-status").className = kind; $("file-status").replaceChildren(...parts); };
  const asked = model();
  const values = { model: asked.name, filename: file.name, format: "csv" };
  if ($("column").value) values.column = $("column").value;
  $("again").hidden = false;
  $("scored").hidden = true;
  say("soft", el("progress", { "aria-label": "Scoring" }), ` Scoring ${file.name} …`);
  try {
    const limit = served.limits.body_bytes;
    if (file.size > limit) throw new Error(`${file.name} is larger than ${megabytes(limit)}. Cut it into parts.`);
    const headers = { "Content-Type": "application/octet-stream" };
    const answer = await ask(`api/table?${new URLSearchParams(values)}`, { method: "POST", headers, body: file });
    const csv = await answer.blob();
    const column = decodeURIComponent(answer.headers.get("X-Text-Column") ?? "");
    const empty = Number(answer.headers.get("X-Empty-Texts"));
    showScored(asked, file.name, csv, readCsv(await csv.text()), column, empty);
    say("soft", `${file.name} is scored.`);
  } catch (error) {
    say("error", error.message);
  }
}

/** A short account of a scored table: how many of each class, its first rows, and the file itself. */
function showScored({ labels, title }, name, csv, [header, ...rows], column, empty) {
  const ours = header.length - labels.length - 1; // our columns stand behind those of the file
  const text = header.indexOf(column);
  const cells = labels.map((label) => [label, `'${label}`]); // labels that look like formulas are quoted
  const classes = rows.map((row) => cells.findIndex((cell) => cell.includes(row[ours])));
  const counts = labels.map((_, i) => classes.filter((one) => one === i).length);
  const first = rows.slice(0, 5).map((row, i) => el("tr", {},
    el("td", { class: "quoted", dir: "auto" }, row[text] ?? ""), el("td", {}, el("b", {}, labels[classes[i]])),
    el("td", { class: "num" }, percent(Number(row[ours + 1 + classes[i]])))));
  const remark = empty ? `, ${number(empty)} of them empty` : "";
  const download = `${name.replace(/\.\w+$/, "")}-predicted.csv`;
  $("scored").replaceChildren(
    el("div", { class: "line" }, el("h2", {}, `${counted(rows.length, "text")} scored by ${title}${remark}`),
      el("a", { class: "primary", href: URL.createObjectURL(csv), download }, "Download CSV")),
    el("p", { class: "soft" }, `Texts are from the column ${column}. Added columns: ${header.slice(ours).join(", ")}.`),
    el("ul", { class: "bars" }, ...labels.map((label, i) => barRow(label, counts[i] / rows.length, number(counts[i])))),
    el("h3", {}, "First rows"),
    el("table", {}, el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "Text"),
      el("th", { scope: "col" }, "Predicted"), el("th", { scope: "col", class: "num" }, "Probability"))),
      el("tbody", {}, ...first)));
  $("scored").hidden = false;
}

function showFile() {
  const { body_bytes: bytes, table_rows: rows } = served.limits;
  $("upload-limits").textContent = `CSV, TSV or JSONL; up to ${number(rows)} rows and ${megabytes(bytes)}`;
}

// ------------------------------------------------------------------------------------------------- the whole page

const SHOW = { text: showText, examples: showExamples, words: showWords, file: showFile };

/** The title of a model, with its name where others have the same. */
function titled({ title, name }) {
  return served.models.filter((one) => one.title === title).length > 1 ? `${title} (${name})` : title;
}

/** A fact about a model, as people read it. */
function shownFact(name, value) {
  if (typeof value !== "number") return String(value);
  return name.endsWith("accuracy") ? percent(value) : number(value);
}

function showModel() {
  const { about, name } = model();
  const others = served.models.filter((one) => one.name !== name);
  const right = about.test_accuracy === undefined ? "" : `Right on ${percent(about.test_accuracy)} of its test texts. `;
  document.title = `${titled(model())} · vmask`;
  $("title").textContent = model().title;
  $("lead").textContent = `${right}See which words it uses.`;
  fill($("model"), served.models.map((one) => [one.name, titled(one)]), name);
  fill($("beside"), [["", "no other"], ...others.map((one) => [one.name, titled(one)])], state.beside);
  $("models").hidden = !others.length;
  $("facts").replaceChildren(...Object.entries(about).flatMap(([fact, value]) =>
    [el("dt", {}, spaced(fact)), el("dd", {}, shownFact(fact, value))]));
  $("about").hidden = !Object.keys(about).length;
}

/** Draw what the state says, as far as it differs from what is seen. */
function refresh() {
  $("copied").textContent = ""; // a link that was copied leads to what was seen before
  $("link").hidden = true;
  showModel();
  for (const tab of $("tabs").children) {
    const chosen = tab.dataset.tab === state.tab;
    tab.setAttribute("aria-selected", chosen);
    tab.tabIndex = chosen ? 0 : -1;
    $(tab.dataset.tab).hidden = !chosen;
  }
  SHOW[state.tab]();
}

function chooseTab(event) {
  const tabs = [...$("tabs").children];
  const next = stepTo(event.key, tabs.indexOf(event.target), tabs.length);
  if (next === undefined) return;
  event.preventDefault();
  const tab = tabs.at(next % tabs.length);
  tab.focus();
  change({ tab: tab.dataset.tab }, true);
}

/** A file may be dropped anywhere. */
function dropped(event) {
  if (!event.dataTransfer.types.includes("Files")) return;
  event.preventDefault();
  document.body.classList.toggle("dragging", event.type === "dragover");
  if (event.type !== "drop" || !event.dataTransfer.files.length) return;
  if (state.tab !== "file") change({ tab: "file" }, true);
  score(event.dataTransfer.files[0]);
}

function listen() {
  const on = (id, kind, action) => $(id).addEventListener(kind, ({ target }) => action(target.value));
  on("input", "input", (text) => change({ ...UNEDITED, text }));
  on("explainer", "change", (explainer) => change({ ...withoutOptions(), seed: DEFAULTS.seed, explainer }));
  on("target", "change", (target) => change({ target }));
  on("model", "change", (name) => change({
    model: name, hidden: "", label: "", predicted: "", beside: state.beside === name ? "" : state.beside,
  }, true));
  on("beside", "change", (beside) => change({ beside }, true));
  for (const id of ["show", "label", "predicted"]) on(id, "change", (value) => change({ [id]: value }));
  for (const id of ["find", "word"]) on(id, "input", (value) => change({ [id]: value }));
  on("min", "input", (step) => change({ min: String(COUNTS[step]) }));
  on("upload", "click", () => { $("upload").value = ""; }); // so that the same file may be chosen again
  on("upload", "change", () => $("upload").files.length && score($("upload").files[0]));
  on("again", "click", () => score(table));
  on("copy", "click", copyLink);
  on("more", "click", () => openOptions($("options").hidden));
  for (const tab of $("tabs").children) tab.addEventListener("click", () => change({ tab: tab.dataset.tab }, true));
  for (const button of document.querySelectorAll("[data-sort]")) {
    button.addEventListener("click", () => change({ sort: button.dataset.sort }));
  }
  $("tabs").addEventListener("keydown", chooseTab);
  for (const kind of ["dragover", "dragleave", "drop"]) addEventListener(kind, dropped);
  addEventListener("keydown", ({ key }) => key === "Escape" && closeTip());
  addEventListener("popstate", () => { token.take(); state = stateOf(location.hash); openChangedOptions(); refresh(); });
}

/** A text to begin with: the first test example where there is one at once, so that colours are seen immediately. */
async function sample() {
  const values = { model: state.model, show: "all", limit: 1 };
  const answer = model().examples && (await get("api/examples", values, AbortSignal.timeout(2000)).catch(() => null));
  const first = answer?.examples?.[0];
  return first ? asTyped(first) : { text: SAMPLE };
}

async function start() {
  token.take();
  try {
    served = await (await ask("api/options")).json();
  } catch (error) {
    $("lead").textContent = error.message;
    return;
  }
  state = stateOf(location.hash);
  if (!new URLSearchParams(location.hash.slice(1)).has("text")) Object.assign(state, await sample());
  $("min").max = COUNTS.length - 1;
  $("version").textContent = `vmask ${served.version}`;
  $("tabs").hidden = false;
  listen();
  openChangedOptions();
  refresh();
}

start();
