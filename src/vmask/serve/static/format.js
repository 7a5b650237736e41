/** Numbers and names as people read them. */

const PERCENT = new Intl.NumberFormat("en", { style: "percent", minimumFractionDigits: 1, maximumFractionDigits: 1 });

export const formatNumber = (value) => value.toLocaleString("en");
export const formatPercent = (value) => PERCENT.format(value);
export const plural = (n, noun) => `${formatNumber(n)} ${noun}${n === 1 ? "" : "s"}`;
export const formatMegabytes = (bytes) => `${Number((bytes / 2 ** 20).toPrecision(2))} MB`;
export const spaced = (name) => String(name).replaceAll("_", " ");

/** Format a score with a few significant digits, and with a plus sign if scores have signs. */
export function formatScore(score, signed) {
  const size = Math.abs(score);
  const sign = score < 0 ? "−" : signed ? "+" : "";
  return sign + (size > 0 && size < 0.001 ? size.toExponential(1) : size.toPrecision(3));
}

/** Return the predicted labels of an answer of the server: one, or any number where a text may have several. */
export function predictedLabels({ predicted_labels: several, predicted, label }) {
  return several ?? [predicted ?? label];
}

/** Return the predicted labels of an answer with the probability of a single one, e.g. `pos 93%`, `billing + refund`. */
export function predictionName(answer, labels) {
  const names = predictedLabels(answer);
  const probability = answer.predicted_labels ? "" : ` ${formatPercent(answer.probabilities[labels.indexOf(names[0])])}`;
  return [names.join(" + ") || "no label", probability];
}
