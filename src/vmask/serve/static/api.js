/** Requests to the server. */

import { $ } from "./dom.js";
import { options } from "./state.js";
import { pause } from "./timing.js";
import { askForToken, currentToken, withToken } from "./token.js";

const RETRY_MILLISECONDS = 1500;

/** Send a request. Throws an error with the message, the status and the waiting time of the server. */
export async function request(path, init = {}) {
  const token = currentToken();
  let response;
  try {
    response = await fetch(path, withToken(init));
  } catch (error) {
    if (init.signal?.aborted) throw error;
    waitForServer();
    throw new Error("The server does not answer.");
  }
  if (response.ok) return response.json();
  if (response.status === 401) {
    if (currentToken() === token) await askForToken(); // otherwise another request has got a new one meanwhile
    return request(path, init);
  }
  const { detail } = await response.json().catch(() => ({}));
  const error = new Error(detail ?? `The server answered with error ${response.status}.`);
  throw Object.assign(error, { status: response.status, wait: Number(response.headers.get("Retry-After")) || 1 });
}

export function get(path, parameters, signal) {
  return request(`${path}?${new URLSearchParams(parameters)}`, { signal });
}

export function post(path, body, signal) {
  const headers = { "Content-Type": "application/json" };
  return request(path, { method: "POST", headers, body: JSON.stringify(body), signal });
}

let reconnected = () => {};

/** Set the function that is called when the server answers again. */
export function onReconnect(callback) {
  reconnected = callback;
}

/** Show that the server does not answer, until it does. Load the page again if it has other models then. */
async function waitForServer() {
  const notice = $("disconnected");
  if (!notice.hidden) return;
  notice.textContent = "The server does not answer. Once vmask serve runs again, this page goes on by itself.";
  notice.hidden = false;
  let answer = null;
  while (!answer) {
    await pause(RETRY_MILLISECONDS);
    answer = await fetch("api/options", withToken({})).then((response) => response.json()).catch(() => null);
  }
  if (JSON.stringify(answer) !== JSON.stringify(options)) location.reload();
  notice.hidden = true;
  reconnected();
}
