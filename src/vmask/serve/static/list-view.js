/** A list that the server returns page by page: the examples or the words of a model. */

import { get } from "./api.js";
import { $ } from "./dom.js";
import { DEBOUNCE, pause } from "./timing.js";

const PREPARING_MILLISECONDS = 1000; // between two questions whether the examples are predicted

export class ListView {
  /**
   * `name` is that of the tab, of the route and of the items in its answer; `pageSize` the number of items of a page.
   * `query` returns the parameters of the request, `row` the element of an item, `summary` a sentence about an answer;
   * `onTotal` is called with the number of items that match.
   */
  constructor(name, { pageSize, query, row, summary, onTotal = () => {} }) {
    Object.assign(this, { name, pageSize, query, row, summary, onTotal });
    this.rows = $(`${name}-rows`);
    this.status = $(`${name}-status`);
    this.more = $(`${name}-more`);
    this.more.addEventListener("click", () => this.loadMore());
    this.request = new AbortController();
    this.forget();
  }

  /** Load the list anew at the next refresh. */
  forget() { this.loaded = ""; }

  refresh() {
    const query = JSON.stringify(this.query());
    if (query !== this.loaded) this.load(0);
    this.loaded = query;
  }

  async load(offset) {
    this.request.abort();
    this.request = new AbortController();
    const { signal } = this.request;
    try {
      if (!offset) await pause(DEBOUNCE, signal);
      const answer = await this.getPrepared({ ...this.query(), limit: this.pageSize, offset }, signal);
      if (!offset) this.rows.replaceChildren();
      this.rows.append(...answer[this.name].map(this.row));
      this.showStatus(answer.total ? this.summary(answer) : "There is nothing like that.", answer.total);
    } catch (error) {
      if (!signal.aborted) this.showStatus(error.message);
    }
  }

  /** Show a sentence about the list, or why there is none. */
  showStatus(message, total = 0) {
    this.status.textContent = message;
    this.rows.closest(".card").hidden = !total;
    this.more.hidden = this.rows.childElementCount >= total;
    this.onTotal(total);
  }

  /** Return the answer, once the server has predicted the test texts. */
  async getPrepared(parameters, signal) {
    for (;;) {
      const answer = await get(`api/${this.name}`, parameters, signal);
      $("preparing").hidden = answer.preparing === undefined;
      if (answer.preparing === undefined) return answer;
      $("preparing").value = answer.preparing;
      this.status.textContent = "The model is predicting the test texts …";
      await pause(PREPARING_MILLISECONDS, signal);
    }
  }

  async loadMore() {
    const first = this.rows.childElementCount;
    await this.load(first);
    this.rows.children[first]?.querySelector("button")?.focus();
  }
}
