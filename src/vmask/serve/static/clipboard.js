/** Copying to the clipboard. */

/** Copy a text, and return whether the browser allowed it. If not, `field` shows the text to be copied by hand. */
export async function copyText(text, field) {
  const copied = Boolean(await navigator.clipboard?.writeText(text).then(() => true, () => false));
  field.hidden = copied;
  field.value = text;
  if (!copied) field.select();
  return copied;
}
