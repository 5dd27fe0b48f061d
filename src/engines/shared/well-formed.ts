/** Text as it may travel: a lone surrogate (half of a character) becomes U+FFFD. */
const LONE = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

export function wellFormed(text: string): string {
  return text.replace(LONE, "\ufffd");
}

export function isWellFormed(text: string): boolean {
  return text.search(LONE) === -1;
}
