/** Text that crosses a line holds no lone surrogates. */

/** Lone surrogates become U+FFFD. */
export function wellFormed(text: string): string {
  return text.replace(/\p{Surrogate}/gu, "\u{FFFD}");
}
