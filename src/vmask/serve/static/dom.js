/** Small helpers for elements of the page. Texts are inserted as text, never as HTML. */

export const $ = (id) => document.getElementById(id);

/** Return a new element. Attributes that are functions become event listeners; those that are false are left out. */
export function el(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") node.addEventListener(name, value);
    else if (value !== false) node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children);
  return node;
}

/** Return a bar that covers a share of its track; `kind` is its class and chooses its colour. */
export function bar(share, kind = "") {
  const length = el("i", { class: kind });
  length.style.setProperty("width", `${100 * Math.min(Math.max(share, 0), 1)}%`);
  return el("span", { class: "track", "aria-hidden": "true" }, length);
}

/** Return a row of a list of bars: a name, its bar, its value. `note` is added to the name for screen readers. */
export function barRow(name, share, value, kind, note = "") {
  const label = el("b", { dir: "auto", title: name + note }, name);
  if (note) label.append(el("span", { class: "visually-hidden" }, note));
  return el("li", {}, label, bar(share, kind), el("span", { class: "num" }, value));
}

const filledWith = new WeakMap(); // the options that a select has, as JSON

/** Set the [value, text] pairs of a select, and its value. Equal pairs are not set again: an open list stays open. */
export function fillSelect(select, pairs, value) {
  const key = JSON.stringify(pairs);
  if (filledWith.get(select) !== key) {
    select.replaceChildren(...pairs.map(([option, text]) => el("option", { value: option }, text)));
    filledWith.set(select, key);
  }
  select.value = value;
}

/** Set the value of a field. An equal value is not set again, because that would move the cursor. */
export function setValue(field, value) {
  if (field.value !== value) field.value = value;
}

/** Call `action` with the value of an element when it fires an event. */
export function onEvent(id, type, action) {
  $(id).addEventListener(type, ({ target }) => action(target.value));
}

/** Return the index to which a key leads from index `i` of `n` items; undefined for other keys. */
export function nextIndex(key, i, n, step = 1) {
  return { ArrowLeft: i - step, ArrowRight: i + step, Home: 0, End: n - 1 }[key];
}
