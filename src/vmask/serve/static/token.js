/**
 * The token that a server may ask for, kept for this tab only.
 *
 * A link may contain it behind `#`, which browsers send to nobody. It is removed from the address at once, so that
 * neither a copied link nor the history contains it.
 */

import { $ } from "./dom.js";

let token = "";

export const currentToken = () => token;

/** Take the token from the address, or from the storage of the tab. */
export function readToken() {
  const fragment = new URLSearchParams(location.hash.slice(1));
  const value = fragment.get("token");
  if (value !== null) {
    fragment.delete("token");
    history.replaceState(null, "", fragment.size ? `#${fragment}` : location.pathname + location.search);
    keepToken(value);
  } else {
    try { token ||= sessionStorage.getItem("token") ?? ""; } catch { /* no storage: the page asks for it */ }
  }
}

function keepToken(value) {
  token = value;
  try { sessionStorage.setItem("token", value); } catch { /* no storage: it is lost with the page */ }
}

/** Return the options of a fetch, with the token. */
export function withToken(init) {
  return token ? { ...init, headers: { ...init.headers, Authorization: `Bearer ${token}` } } : init;
}

let submitted; // resolves when the form is submitted; shared by all requests that wait for it

/** Show the form for the token, and wait until it is submitted. */
export function askForToken() {
  const form = $("unlock");
  $("token-status").textContent = token ? "The server does not know this token." : "";
  if ($("tabs").hidden) $("lead").textContent = ""; // the page is not drawn yet
  submitted ??= new Promise((resolve) => {
    form.hidden = false;
    $("token").focus();
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      keepToken($("token").value.trim());
      $("token").value = "";
      form.hidden = true;
      submitted = undefined;
      resolve();
    }, { once: true });
  });
  return submitted;
}
