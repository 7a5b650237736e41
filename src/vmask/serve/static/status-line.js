/** The line under a text: remarks on its explanation, an error, or how long an explainer has been computing. */

import { el } from "./dom.js";

export class StatusLine {
  constructor(node) {
    this.node = node;
  }

  /** Show a message. `button` is the text of a button that calls `action`; `kind` is "error" or empty. */
  show(message, { button = "", action, kind = "" } = {}) {
    this.stopClock();
    this.node.className = `status ${kind || "soft"}`;
    this.node.role = kind && "alert";
    this.node.replaceChildren(el("span", {}, message));
    if (button) this.node.append(el("button", { type: "button", click: action }, button));
  }

  /** Show that something is computing, for how long, and a button to cancel it. */
  showProgress(message, cancel) {
    const began = Date.now();
    const seconds = el("span", { class: "num", "aria-hidden": "true" });
    this.show(message);
    this.node.prepend(el("progress", { "aria-label": message }));
    this.node.append(seconds, el("button", { type: "button", click: cancel }, "Cancel"));
    this.clock = setInterval(() => { seconds.textContent = `${Math.round((Date.now() - began) / 1000)} s`; }, 1000);
  }

  stopClock() {
    clearInterval(this.clock);
  }
}
