/** The score of a word, shown beside it. */

import { $, el } from "./dom.js";

export function openTooltip(mark, value, meaning) {
  const tooltip = $("tip");
  tooltip.replaceChildren(el("b", {}, value), ` ${meaning}`);
  tooltip.hidden = false;
  const [box] = mark.getClientRects(); // the first line of a word that is broken
  const right = document.documentElement.clientWidth - tooltip.offsetWidth - 8;
  const left = Math.max(Math.min(box.left + (box.width - tooltip.offsetWidth) / 2, right), 8);
  const top = box.top > tooltip.offsetHeight + 12 ? box.top - tooltip.offsetHeight - 6 : box.bottom + 6;
  tooltip.style.setProperty("left", `${left + scrollX}px`);
  tooltip.style.setProperty("top", `${top + scrollY}px`);
}

export function closeTooltip() {
  $("tip").hidden = true;
}
