/**
 * The page of `vmask serve`.
 *
 * Everything on it follows from the state (`state.js`), which is also the address. Each tab is a view with `setUp`,
 * `show` and `forget`; controls change the state, and `refresh` lets the open view draw what differs.
 */

import { onReconnect, request } from "./api.js";
import { $, nextIndex } from "./dom.js";
import { editView } from "./edit-view.js";
import { examplesView, firstText } from "./examples-view.js";
import { headerView } from "./header-view.js";
import { openChangedOptions } from "./options-view.js";
import { change, onChange, readAddress, setOptions, state } from "./state.js";
import { tableView } from "./table-view.js";
import { textView } from "./text-view.js";
import { readToken } from "./token.js";
import { wordsView } from "./words-view.js";

const VIEWS = { text: textView, examples: examplesView, words: wordsView, file: tableView };

/** Draw the state, as far as it differs from what is shown. */
function refresh() {
  headerView.show();
  for (const tab of $("tabs").children) {
    const selected = tab.dataset.tab === state.tab;
    tab.setAttribute("aria-selected", selected);
    tab.tabIndex = selected ? 0 : -1;
    $(tab.dataset.tab).hidden = !selected;
  }
  editView.showNote();
  VIEWS[state.tab].show();
}

/** Move between tabs with the arrow keys. */
function handleTabKey(event) {
  const tabs = [...$("tabs").children];
  const next = nextIndex(event.key, tabs.indexOf(event.target), tabs.length);
  if (next === undefined) return;
  event.preventDefault();
  const tab = tabs.at(next % tabs.length);
  tab.focus();
  change({ tab: tab.dataset.tab }, true);
}

function setUp() {
  headerView.setUp();
  for (const view of Object.values(VIEWS)) view.setUp();
  for (const tab of $("tabs").children) tab.addEventListener("click", () => change({ tab: tab.dataset.tab }, true));
  $("tabs").addEventListener("keydown", handleTabKey);
  addEventListener("popstate", () => { readToken(); readAddress(); openChangedOptions(); refresh(); });
  onChange(refresh);
  onReconnect(() => {
    for (const view of Object.values(VIEWS)) view.forget();
    refresh();
  });
}

async function start() {
  readToken();
  try {
    setOptions(await request("api/options"));
  } catch (error) {
    $("lead").textContent = error.message;
    return;
  }
  readAddress();
  if (!new URLSearchParams(location.hash.slice(1)).has("text")) Object.assign(state, await firstText());
  $("tabs").hidden = false;
  setUp();
  openChangedOptions();
  refresh();
}

start();
