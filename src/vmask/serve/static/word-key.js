/** What words are compared by, for an edit holds for a word in any case: straße, Strasse and STRASSE are one word. */

/**
 * Return the same key for words that differ in case alone, as `casefold` of Python has it on the server.
 *
 * Upper case joins what lower case keeps apart, such as ß and ss, and also i and the dotless ı, which are two letters.
 */
export const wordKey = (word) =>
  word.toLowerCase().split("ı").map((part) => part.toUpperCase().toLowerCase()).join("ı");
